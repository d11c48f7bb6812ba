// SPDX-License-Identifier: GPL-2.0
/* The verbs that ib_mad, ib_umad, IPoIB and rdma_cm need: UD only, for the kernel only. */
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "simib.h"

/* ---- the device and its ports */

static int query_device(struct ib_device *ib, struct ib_device_attr *attr, struct ib_udata *udata)
{
	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = 1;
	attr->sys_image_guid = ib->node_guid;
	attr->max_mr_size = ~0ULL;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = 65536;
	attr->max_qp_wr = SIMIB_MAX_WRS;
	attr->max_send_sge = SIMIB_MAX_SGES;
	attr->max_recv_sge = SIMIB_MAX_SGES;
	attr->max_cq = 65536;
	attr->max_cqe = SIMIB_MAX_CQES;
	attr->max_mr = 65536;
	attr->max_pd = 65536;
	attr->max_ah = 65536;
	attr->max_mcast_grp = 8192;
	attr->max_mcast_qp_attach = 64;
	attr->max_total_mcast_qp_attach = 65536;
	attr->max_pkeys = SIMIB_PKEYS;
	attr->kernel_cap_flags = IBK_LOCAL_DMA_LKEY;
	return 0;
}

static int query_port(struct ib_device *ib, u32 number, struct ib_port_attr *attr)
{
	struct simib_port *port = to_port(ib, number);
	const struct ib_port_info *info = &port->info;
	unsigned long irq;
	u8 mtu;

	spin_lock_irqsave(&port->hca->lock, irq);
	attr->subnet_prefix = be64_to_cpu(info->gid_prefix);
	attr->state = simib_port_state(port);
	attr->phys_state = simib_physical_state(port);
	mtu = min_t(u8, info->neighbormtu_mastersmsl >> 4, port->link_mtu);
	attr->max_mtu = info->inittypereply_mtucap & 0xf;
	attr->active_mtu = mtu;
	attr->gid_tbl_len = SIMIB_GUIDS;
	attr->port_cap_flags = be32_to_cpu(info->cap_mask);
	attr->max_msg_sz = SIMIB_MAX_PAYLOAD;
	attr->bad_pkey_cntr = be16_to_cpu(info->pkey_violations);
	attr->qkey_viol_cntr = be16_to_cpu(info->qkey_violations);
	attr->pkey_tbl_len = SIMIB_PKEYS;
	attr->lid = be16_to_cpu(info->lid);
	attr->sm_lid = be16_to_cpu(info->sm_lid);
	attr->lmc = info->mkeyprot_resv_lmc & 7;
	attr->max_vl_num = info->vlcap_inittype >> 4;
	attr->sm_sl = info->neighbormtu_mastersmsl & 0xf;
	attr->subnet_timeout = info->clientrereg_resv_subnetto & 0x1f;
	attr->active_width = info->link_width_active;
	attr->active_speed = info->linkspeedactive_enabled >> 4;
	if (port->speed_ext_active)
		attr->active_speed = port->speed_ext_active << 4;
	spin_unlock_irqrestore(&port->hca->lock, irq);
	return 0;
}

/* IsSM and the other bits by which ib_umad and ib_cm say what runs here; reported by trap 144. */
static int modify_port(struct ib_device *ib, u32 number, int mask, struct ib_port_modify *modify)
{
	struct simib_port *port = to_port(ib, number);
	unsigned long irq;
	u32 before, after;

	spin_lock_irqsave(&port->hca->lock, irq);
	before = be32_to_cpu(port->info.cap_mask);
	after = (before | modify->set_port_cap_mask) & ~modify->clr_port_cap_mask;
	port->info.cap_mask = cpu_to_be32(after);
	simib_tell_port(port, false);
	if (after != before)
		simib_raise(port, SIMIB_TRAP_CAPABILITY_MASK, NULL);
	spin_unlock_irqrestore(&port->hca->lock, irq);
	return 0;
}

static int get_port_immutable(struct ib_device *ib, u32 number,
			      struct ib_port_immutable *immutable)
{
	immutable->pkey_tbl_len = SIMIB_PKEYS;
	immutable->gid_tbl_len = SIMIB_GUIDS;
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static enum rdma_link_layer get_link_layer(struct ib_device *ib, u32 number)
{
	return IB_LINK_LAYER_INFINIBAND;
}

static int query_gid(struct ib_device *ib, u32 number, int index, union ib_gid *gid)
{
	struct simib_port *port = to_port(ib, number);
	unsigned long irq;

	if (index < 0 || index >= SIMIB_GUIDS)
		return -EINVAL;
	spin_lock_irqsave(&port->hca->lock, irq);
	gid->global.subnet_prefix = port->info.gid_prefix;
	gid->global.interface_id = port->guids[index];
	spin_unlock_irqrestore(&port->hca->lock, irq);
	if (!gid->global.interface_id)
		memset(gid, 0, sizeof(*gid));
	return 0;
}

static int query_pkey(struct ib_device *ib, u32 number, u16 index, u16 *pkey)
{
	struct simib_port *port = to_port(ib, number);
	unsigned long irq;

	if (index >= SIMIB_PKEYS)
		return -EINVAL;
	spin_lock_irqsave(&port->hca->lock, irq);
	*pkey = be16_to_cpu(port->pkeys[index]);
	spin_unlock_irqrestore(&port->hca->lock, irq);
	return 0;
}

static int modify_device(struct ib_device *ib, int mask, struct ib_device_modify *modify)
{
	unsigned long irq;

	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC) {
		spin_lock_irqsave(&to_hca(ib)->lock, irq);
		memcpy(ib->node_desc, modify->node_desc, IB_DEVICE_NODE_DESC_MAX);
		spin_unlock_irqrestore(&to_hca(ib)->lock, irq);
	}
	return 0;
}

/* There are no user contexts to take back: this says that the device may change its namespace. */
static void disassociate_ucontext(struct ib_ucontext *context)
{
}

/* ---- protection domains, memory, address handles */

static int alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static int dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	return 0;
}

static struct ib_mr *get_dma_mr(struct ib_pd *pd, int access)
{
	struct ib_mr *mr = kzalloc(sizeof(*mr), GFP_KERNEL);

	return mr ?: ERR_PTR(-ENOMEM);
}

static struct ib_mr *reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 address, int access,
				 struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static int dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	kfree(mr);
	return 0;
}

static int create_ah(struct ib_ah *ib, struct rdma_ah_init_attr *init, struct ib_udata *udata)
{
	struct simib_ah *ah = to_ah(ib);

	ah->attr = *init->ah_attr;
	if (rdma_ah_get_ah_flags(&ah->attr) & IB_AH_GRH)
		return query_gid(ib->device, rdma_ah_get_port_num(&ah->attr),
				 rdma_ah_read_grh(&ah->attr)->sgid_index, &ah->sgid);
	return 0;
}

static int query_ah(struct ib_ah *ib, struct rdma_ah_attr *attr)
{
	*attr = to_ah(ib)->attr;
	return 0;
}

static int destroy_ah(struct ib_ah *ib, u32 flags)
{
	return 0;
}

/* ---- completion queues */

static void call_handler(struct tasklet_struct *tasklet)
{
	struct simib_cq *cq = from_tasklet(cq, tasklet, tasklet);

	if (cq->ib.comp_handler)
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

static int create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr, struct ib_udata *udata)
{
	struct simib_cq *cq = to_cq(ib);

	if (udata)
		return -EOPNOTSUPP;
	if (attr->cqe < 1 || attr->cqe > SIMIB_MAX_CQES)
		return -EINVAL;
	cq->size = attr->cqe + 1;
	cq->ring = vcalloc(cq->size, sizeof(*cq->ring));
	if (!cq->ring)
		return -ENOMEM;
	ib->cqe = attr->cqe;
	tasklet_setup(&cq->tasklet, call_handler);
	return 0;
}

static int destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct simib_cq *cq = to_cq(ib);

	tasklet_kill(&cq->tasklet);
	vfree(cq->ring);
	return 0;
}

/* The lock of the HCA is held. */
void simib_complete(struct simib_cq *cq, const struct ib_wc *wc, bool solicited)
{
	if (cq->count == cq->size) {
		pr_err_ratelimited("simib: a completion queue of %u is full\n", cq->size);
		return;
	}
	cq->ring[(cq->head + cq->count++) % cq->size] = *wc;
	if (cq->armed == IB_CQ_NEXT_COMP ||
	    (cq->armed == IB_CQ_SOLICITED && (solicited || wc->status != IB_WC_SUCCESS))) {
		cq->armed = 0;
		tasklet_schedule(&cq->tasklet);
	}
}

static int poll_cq(struct ib_cq *ib, int entries, struct ib_wc *wc)
{
	struct simib_cq *cq = to_cq(ib);
	struct simib_hca *hca = to_hca(ib->device);
	unsigned long irq;
	int taken = 0;

	spin_lock_irqsave(&hca->lock, irq);
	for (; taken < entries && cq->count; taken++, cq->count--) {
		wc[taken] = cq->ring[cq->head];
		cq->head = (cq->head + 1) % cq->size;
	}
	spin_unlock_irqrestore(&hca->lock, irq);
	return taken;
}

static int req_notify_cq(struct ib_cq *ib, enum ib_cq_notify_flags flags)
{
	struct simib_cq *cq = to_cq(ib);
	struct simib_hca *hca = to_hca(ib->device);
	unsigned long irq;
	int missed;

	spin_lock_irqsave(&hca->lock, irq);
	/* A wait for any completion is not weakened to one for solicited ones. */
	if (cq->armed != IB_CQ_NEXT_COMP)
		cq->armed = flags & IB_CQ_SOLICITED_MASK;
	missed = (flags & IB_CQ_REPORT_MISSED_EVENTS) && cq->count;
	spin_unlock_irqrestore(&hca->lock, irq);
	return missed;
}

/* ---- queue pairs */

static int init_receive_queue(struct simib_qp *qp, const struct ib_qp_cap *cap)
{
	if (cap->max_recv_wr > SIMIB_MAX_WRS || cap->max_recv_sge > SIMIB_MAX_SGES ||
	    cap->max_send_wr > SIMIB_MAX_WRS || cap->max_send_sge > SIMIB_MAX_SGES)
		return -EINVAL;
	qp->recv_size = max(cap->max_recv_wr, 1U);
	qp->recvs = vcalloc(qp->recv_size, sizeof(*qp->recvs));
	return qp->recvs ? 0 : -ENOMEM;
}

static int take_special(struct simib_qp *qp, int which, u32 number)
{
	struct simib_port *port = to_port(qp->ib.device, number);
	unsigned long irq;
	int error = 0;

	spin_lock_irqsave(&port->hca->lock, irq);
	if (port->special[which])
		error = -EBUSY;
	else
		port->special[which] = qp;
	spin_unlock_irqrestore(&port->hca->lock, irq);
	qp->port = number;
	qp->qkey = which ? IB_QP1_QKEY : 0;
	qp->ib.qp_num = which;
	return error;
}

static int take_number(struct simib_qp *qp)
{
	struct simib_hca *hca = to_hca(qp->ib.device);

	return xa_alloc_cyclic_irq(&hca->qps, &qp->ib.qp_num, qp, XA_LIMIT(2, 0xfffffe),
				   &hca->next_qpn, GFP_KERNEL) < 0 ? -ENOMEM : 0;
}

static int create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr, struct ib_udata *udata)
{
	struct simib_qp *qp = to_qp(ib);
	int error;

	if (udata || attr->srq || attr->create_flags & ~IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK)
		return -EOPNOTSUPP;
	if (attr->qp_type != IB_QPT_SMI && attr->qp_type != IB_QPT_GSI &&
	    attr->qp_type != IB_QPT_UD)
		return -EOPNOTSUPP;
	error = init_receive_queue(qp, &attr->cap);
	if (error)
		return error;
	qp->state = IB_QPS_RESET;
	qp->init = *attr;
	if (attr->qp_type == IB_QPT_UD)
		error = take_number(qp);
	else
		error = take_special(qp, attr->qp_type == IB_QPT_GSI, attr->port_num);
	if (error)
		vfree(qp->recvs);
	return error;
}

static void flush_receives(struct simib_qp *qp)
{
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR, .qp = &qp->ib };

	for (; qp->recv_count; qp->recv_count--) {
		wc.wr_cqe = qp->recvs[qp->recv_head].cqe_or_id;
		qp->recv_head = (qp->recv_head + 1) % qp->recv_size;
		simib_complete(to_cq(qp->ib.recv_cq), &wc, false);
	}
}

static int modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct simib_qp *qp = to_qp(ib);
	struct simib_hca *hca = to_hca(ib->device);
	enum ib_qp_state to;
	unsigned long irq;
	int error = 0;

	spin_lock_irqsave(&hca->lock, irq);
	to = mask & IB_QP_STATE ? attr->qp_state : qp->state;
	if (!ib_modify_qp_is_ok(qp->state, to, ib->qp_type, mask)) {
		error = -EINVAL;
		goto unlock;
	}
	if (mask & IB_QP_PKEY_INDEX)
		qp->pkey_index = attr->pkey_index % SIMIB_PKEYS;
	if (mask & IB_QP_QKEY && ib->qp_type == IB_QPT_UD)
		qp->qkey = attr->qkey;
	if (mask & IB_QP_PORT)
		qp->port = attr->port_num;
	qp->state = to;
	if (to == IB_QPS_ERR)
		flush_receives(qp);
	if (to == IB_QPS_RESET)
		qp->recv_count = 0;
unlock:
	spin_unlock_irqrestore(&hca->lock, irq);
	return error;
}

static int query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		    struct ib_qp_init_attr *init)
{
	struct simib_qp *qp = to_qp(ib);

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = qp->state;
	attr->cur_qp_state = qp->state;
	attr->qkey = qp->qkey;
	attr->pkey_index = qp->pkey_index;
	attr->port_num = qp->port;
	attr->cap = qp->init.cap;
	*init = qp->init;
	return 0;
}

/* Takes completions of a queue pair that goes out of a completion queue that stays. */
static void forget_completions(struct simib_cq *cq, const struct ib_qp *qp)
{
	u32 kept = 0, i;

	for (i = 0; i < cq->count; i++) {
		const struct ib_wc *wc = &cq->ring[(cq->head + i) % cq->size];

		if (wc->qp != qp)
			cq->ring[(cq->head + kept++) % cq->size] = *wc;
	}
	cq->count = kept;
}

static int destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct simib_qp *qp = to_qp(ib);
	struct simib_hca *hca = to_hca(ib->device);
	unsigned long irq;

	if (ib->qp_type == IB_QPT_UD)
		xa_erase_irq(&hca->qps, ib->qp_num);
	spin_lock_irqsave(&hca->lock, irq);
	if (ib->qp_type != IB_QPT_UD)
		to_port(ib->device, qp->port)->special[ib->qp_num] = NULL;
	forget_completions(to_cq(ib->send_cq), ib);
	forget_completions(to_cq(ib->recv_cq), ib);
	spin_unlock_irqrestore(&hca->lock, irq);
	vfree(qp->recvs);
	return 0;
}

static void complete_send(struct simib_qp *qp, const struct ib_send_wr *wr,
			  enum ib_wc_status status)
{
	struct ib_wc wc = {
		.wr_cqe = wr->wr_cqe,
		.status = status,
		.opcode = IB_WC_SEND,
		.qp = &qp->ib,
	};

	if (status == IB_WC_SUCCESS && qp->init.sq_sig_type != IB_SIGNAL_ALL_WR &&
	    !(wr->send_flags & IB_SEND_SIGNALED))
		return;
	simib_complete(to_cq(qp->ib.send_cq), &wc, false);
}

static int post_send(struct ib_qp *ib, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad)
{
	struct simib_qp *qp = to_qp(ib);
	struct simib_hca *hca = to_hca(ib->device);
	unsigned long irq;
	int error = 0;

	spin_lock_irqsave(&hca->lock, irq);
	for (; wr; wr = wr->next) {
		if (qp->state == IB_QPS_ERR || qp->state == IB_QPS_SQE) {
			complete_send(qp, wr, IB_WC_WR_FLUSH_ERR);
			continue;
		}
		error = qp->state == IB_QPS_RTS ? simib_transmit(qp, wr) : -EINVAL;
		if (error)
			break;
		complete_send(qp, wr, IB_WC_SUCCESS);
	}
	spin_unlock_irqrestore(&hca->lock, irq);
	if (error)
		*bad = wr;
	return error;
}

static int queue_receive(struct simib_qp *qp, const struct ib_recv_wr *wr)
{
	struct simib_recv *recv;

	if (qp->state == IB_QPS_RESET || wr->num_sge > SIMIB_MAX_SGES)
		return -EINVAL;
	if (qp->recv_count == qp->recv_size)
		return -ENOMEM;
	recv = &qp->recvs[(qp->recv_head + qp->recv_count++) % qp->recv_size];
	recv->cqe_or_id = wr->wr_cqe;
	recv->sges = wr->num_sge;
	memcpy(recv->sge, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
	if (qp->state == IB_QPS_ERR)
		flush_receives(qp);
	return 0;
}

static int post_recv(struct ib_qp *ib, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad)
{
	struct simib_qp *qp = to_qp(ib);
	struct simib_hca *hca = to_hca(ib->device);
	unsigned long irq;
	int error = 0;

	spin_lock_irqsave(&hca->lock, irq);
	for (; wr && !error; wr = error ? wr : wr->next)
		error = queue_receive(qp, wr);
	spin_unlock_irqrestore(&hca->lock, irq);
	if (error)
		*bad = wr;
	return error;
}

/* ---- multicast */

static int attach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct simib_hca *hca = to_hca(ib->device);
	struct simib_attachment *at = kzalloc(sizeof(*at), GFP_KERNEL);
	unsigned long irq;

	if (!at)
		return -ENOMEM;
	at->qp = to_qp(ib);
	at->gid = *gid;
	spin_lock_irqsave(&hca->lock, irq);
	list_add_tail(&at->list, &hca->attachments);
	spin_unlock_irqrestore(&hca->lock, irq);
	return 0;
}

static int detach_mcast(struct ib_qp *ib, union ib_gid *gid, u16 lid)
{
	struct simib_hca *hca = to_hca(ib->device);
	struct simib_attachment *at, *found = NULL;
	unsigned long irq;

	spin_lock_irqsave(&hca->lock, irq);
	list_for_each_entry(at, &hca->attachments, list) {
		if (at->qp != to_qp(ib) || memcmp(&at->gid, gid, sizeof(*gid)))
			continue;
		list_del(&at->list);
		found = at;
		break;
	}
	spin_unlock_irqrestore(&hca->lock, irq);
	kfree(found);
	return found ? 0 : -EINVAL;
}

const struct ib_device_ops simib_verbs_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,

	.alloc_pd = alloc_pd,
	.attach_mcast = attach_mcast,
	.create_ah = create_ah,
	.create_cq = create_cq,
	.create_qp = create_qp,
	.dealloc_pd = dealloc_pd,
	.dereg_mr = dereg_mr,
	.destroy_ah = destroy_ah,
	.destroy_cq = destroy_cq,
	.destroy_qp = destroy_qp,
	.detach_mcast = detach_mcast,
	.disassociate_ucontext = disassociate_ucontext,
	.get_dma_mr = get_dma_mr,
	.get_link_layer = get_link_layer,
	.get_port_immutable = get_port_immutable,
	.modify_device = modify_device,
	.modify_port = modify_port,
	.modify_qp = modify_qp,
	.poll_cq = poll_cq,
	.post_recv = post_recv,
	.post_send = post_send,
	.process_mad = simib_process_mad,
	.query_ah = query_ah,
	.query_device = query_device,
	.query_gid = query_gid,
	.query_pkey = query_pkey,
	.query_port = query_port,
	.query_qp = query_qp,
	.reg_user_mr = reg_user_mr,
	.req_notify_cq = req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, simib_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, simib_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, simib_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, simib_qp, ib),
};

// SPDX-License-Identifier: GPL-2.0
/* How packets leave queue pairs, reach them, and stay within the HCA where it is the receiver. */
#include "simib.h"

#define MAD_BYTES 256
#define MULTICAST_LID 0xc000
#define PERMISSIVE_LID 0xffff
#define GRH_NEXT_HEADER 0x1b
#define BTH_DETH_ICRC_BYTES 24

/* A packet under way within the module. */
struct parcel {
	struct simib_packet packet;
	u8 grh[SIMIB_GRH_BYTES];
	u8 payload[SIMIB_MAX_PAYLOAD];
	u32 length;
};

static const u8 *grh_of(const struct simib_packet *packet, const u8 *grh)
{
	return packet->flags & SIMIB_PACKET_GRH ? grh : NULL;
}

static bool is_multicast(u16 lid)
{
	return lid >= MULTICAST_LID && lid != PERMISSIVE_LID;
}

static void count_packet(struct simib_port *port, u32 length, bool multicast, bool sent)
{
	u64 *counters = port->counters;

	/* Data is counted in words, the headers included. */
	counters[sent ? SIMIB_XMIT_DATA : SIMIB_RCV_DATA] += (length + 8 + BTH_DETH_ICRC_BYTES) / 4;
	counters[sent ? SIMIB_XMIT_PACKETS : SIMIB_RCV_PACKETS]++;
	if (multicast)
		counters[sent ? SIMIB_MULTICAST_XMIT_PACKETS : SIMIB_MULTICAST_RCV_PACKETS]++;
	else
		counters[sent ? SIMIB_UNICAST_XMIT_PACKETS : SIMIB_UNICAST_RCV_PACKETS]++;
}

/* The entry that lets in a packet of this key: the same partition, not both limited (10.9.3). */
int simib_find_pkey(const struct simib_port *port, u16 pkey)
{
	int i;

	for (i = 0; i < SIMIB_PKEYS; i++) {
		u16 own = be16_to_cpu(port->pkeys[i]);

		if ((own ^ pkey) & 0x7fff || !(own & 0x7fff))
			continue;
		if ((own | pkey) & 0x8000)
			return i;
	}
	return -1;
}

/* Copies a piece of a packet into the receive buffers, from `offset` of them on. */
static void scatter(const struct simib_recv *recv, u32 offset, const u8 *from, u32 length)
{
	int i;

	for (i = 0; i < recv->sges && length; i++) {
		const struct ib_sge *sge = &recv->sge[i];
		u32 part;

		if (offset >= sge->length) {
			offset -= sge->length;
			continue;
		}
		part = min(length, sge->length - offset);
		memcpy((void *)(uintptr_t)(sge->addr + offset), from, part);
		from += part;
		length -= part;
		offset = 0;
	}
}

static u32 room(const struct simib_recv *recv)
{
	u32 bytes = 0;
	int i;

	for (i = 0; i < recv->sges; i++)
		bytes += recv->sge[i].length;
	return bytes;
}

static void deliver(struct simib_port *port, struct simib_qp *qp, int pkey_index,
		    const struct simib_packet *packet, const u8 *grh, const u8 *payload, u32 length)
{
	struct simib_recv *recv;
	struct ib_wc wc = {
		.status = IB_WC_SUCCESS,
		.opcode = IB_WC_RECV,
		.byte_len = SIMIB_GRH_BYTES + length,
		.qp = &qp->ib,
		.src_qp = le32_to_cpu(packet->source_qpn),
		.slid = le16_to_cpu(packet->slid),
		.sl = packet->sl,
		.pkey_index = pkey_index,
		.port_num = port->number,
		.dlid_path_bits = le16_to_cpu(packet->dlid) &
				  ((1 << (port->info.mkeyprot_resv_lmc & 7)) - 1),
	};

	if (qp->state != IB_QPS_RTR && qp->state != IB_QPS_RTS && qp->state != IB_QPS_SQD)
		return;
	if (!qp->recv_count) {
		if (qp->ib.qp_type == IB_QPT_SMI)
			port->counters[SIMIB_VL15_DROPPED]++;
		return;
	}
	recv = &qp->recvs[qp->recv_head];
	qp->recv_head = (qp->recv_head + 1) % qp->recv_size;
	qp->recv_count--;
	wc.wr_cqe = recv->cqe_or_id;
	if (room(recv) < wc.byte_len)
		wc.status = IB_WC_LOC_LEN_ERR;
	if (grh_of(packet, grh)) {
		wc.wc_flags |= IB_WC_GRH;
		scatter(recv, 0, grh, SIMIB_GRH_BYTES);
	}
	scatter(recv, SIMIB_GRH_BYTES, payload, length);
	simib_complete(to_cq(qp->ib.recv_cq), &wc, packet->flags & SIMIB_PACKET_SOLICITED);
}

static void refuse(struct simib_port *port, enum simib_trap_kind kind,
		   const struct simib_packet *packet, const u8 *grh)
{
	__be16 *violations = kind == SIMIB_TRAP_BAD_PKEY ? &port->info.pkey_violations :
							   &port->info.qkey_violations;

	if (*violations != cpu_to_be16(0xffff))
		be16_add_cpu(violations, 1);
	simib_raise_bad_key(port, kind, packet, grh_of(packet, grh));
}

/* Delivers a data packet where the queue pair's keys admit it. */
static void admit(struct simib_port *port, struct simib_qp *qp, const struct simib_packet *packet,
		  const u8 *grh, const u8 *payload, u32 length)
{
	u16 pkey = le16_to_cpu(packet->pkey);
	int index = simib_find_pkey(port, pkey);

	if (qp->ib.qp_type != IB_QPT_GSI && index >= 0) {
		u16 own = be16_to_cpu(port->pkeys[qp->pkey_index]);

		if ((own ^ pkey) & 0x7fff || !((own | pkey) & 0x8000))
			index = -1;
		else
			index = qp->pkey_index;
	}
	if (index < 0)
		refuse(port, SIMIB_TRAP_BAD_PKEY, packet, grh);
	else if (le32_to_cpu(packet->qkey) != qp->qkey)
		refuse(port, SIMIB_TRAP_BAD_QKEY, packet, grh);
	else
		deliver(port, qp, index, packet, grh, payload, length);
}

static void receive_multicast(struct simib_port *port, const struct simib_qp *sender,
			      const struct simib_packet *packet, const u8 *grh, const u8 *payload,
			      u32 length)
{
	struct simib_attachment *at;

	if (!grh_of(packet, grh))
		return;
	list_for_each_entry(at, &port->hca->attachments, list)
		if (at->qp != sender && at->qp->port == port->number &&
		    !memcmp(&at->gid, grh + 24, sizeof(at->gid)))
			admit(port, at->qp, packet, grh, payload, length);
}

static void receive_unicast(struct simib_port *port, const struct simib_packet *packet,
			    const u8 *grh, const u8 *payload, u32 length)
{
	u32 qpn = le32_to_cpu(packet->destination_qpn);
	struct simib_qp *qp = qpn < 2 ? port->special[qpn] : xa_load(&port->hca->qps, qpn);

	if (!qp || (qpn >= 2 && qp->port != port->number) || (qpn < 2 && length != MAD_BYTES))
		return;
	if (qpn == 0)
		deliver(port, qp, 0, packet, grh, payload, length);
	else
		admit(port, qp, packet, grh, payload, length);
}

/* A packet has come in by the wire. */
void simib_receive(struct simib_port *port, const struct simib_packet *packet, const u8 *grh,
		   const u8 *payload, u32 length, struct simib_events *events)
{
	bool smp = !packet->destination_qpn;
	u16 dlid = le16_to_cpu(packet->dlid);
	u8 state = simib_port_state(port);

	if (state < (smp ? IB_PORT_INIT : IB_PORT_ARMED))
		return;
	/* The first data packet is what an ARMED port waits for (ActiveTrigger). */
	if (!smp && state == IB_PORT_ARMED) {
		simib_set_state(port, IB_PORT_ACTIVE, events);
		simib_tell_port(port, false);
	}
	count_packet(port, length, is_multicast(dlid), false);
	if (is_multicast(dlid))
		receive_multicast(port, NULL, packet, grh, payload, length);
	else if (dlid == PERMISSIVE_LID || simib_owns_lid(port, dlid))
		receive_unicast(port, packet, grh, payload, length);
}

static void send_parcel(struct simib_port *port, struct simib_qp *sender, struct parcel *parcel)
{
	struct simib_packet *packet = &parcel->packet;
	u16 dlid = le16_to_cpu(packet->dlid);
	bool smp = !packet->destination_qpn;
	bool multicast = is_multicast(dlid);

	if (simib_port_state(port) < (smp ? IB_PORT_INIT : IB_PORT_ACTIVE)) {
		port->counters[SIMIB_XMIT_DISCARDS]++;
		return;
	}
	if (!multicast && dlid != PERMISSIVE_LID && simib_owns_lid(port, dlid)) {
		receive_unicast(port, packet, parcel->grh, parcel->payload, parcel->length);
		return;
	}
	if (multicast)
		receive_multicast(port, sender, packet, parcel->grh, parcel->payload,
				  parcel->length);
	count_packet(port, parcel->length, multicast, true);
	simib_wire_packet(port, packet, parcel->grh, parcel->payload, parcel->length);
}

static void put_grh(struct parcel *parcel, const struct simib_ah *ah)
{
	const struct ib_global_route *route = rdma_ah_read_grh(&ah->attr);
	struct ib_grh *grh = (struct ib_grh *)parcel->grh;

	grh->version_tclass_flow =
		cpu_to_be32(6U << 28 | route->traffic_class << 20 | (route->flow_label & 0xfffff));
	grh->paylen = cpu_to_be16(parcel->length + BTH_DETH_ICRC_BYTES);
	grh->next_hdr = GRH_NEXT_HEADER;
	grh->hop_limit = route->hop_limit;
	grh->sgid = ah->sgid;
	grh->dgid = route->dgid;
	parcel->packet.flags |= SIMIB_PACKET_GRH;
}

static int gather(struct parcel *parcel, const struct ib_send_wr *wr)
{
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (sge->length > SIMIB_MAX_PAYLOAD - parcel->length)
			return -EMSGSIZE;
		memcpy(parcel->payload + parcel->length, (void *)(uintptr_t)sge->addr, sge->length);
		parcel->length += sge->length;
	}
	return 0;
}

static void address(struct parcel *parcel, struct simib_port *port, const struct simib_qp *qp,
		    const struct ib_send_wr *wr)
{
	const struct ib_ud_wr *ud = ud_wr(wr);
	const struct simib_ah *ah = to_ah(ud->ah);
	struct simib_packet *packet = &parcel->packet;
	u16 dlid = rdma_ah_get_dlid(&ah->attr);
	u16 slid = be16_to_cpu(port->info.lid) | rdma_ah_get_path_bits(&ah->attr);
	bool smp = qp->ib.qp_type == IB_QPT_SMI;
	u16 index = qp->ib.qp_type == IB_QPT_GSI ? ud->pkey_index : qp->pkey_index;

	packet->dlid = cpu_to_le16(dlid);
	packet->slid = cpu_to_le16(dlid == PERMISSIVE_LID ? PERMISSIVE_LID : slid);
	packet->sl = rdma_ah_get_sl(&ah->attr);
	packet->source_qpn = cpu_to_le32(qp->ib.qp_num);
	packet->destination_qpn = cpu_to_le32(ud->remote_qpn);
	if (!smp) {
		/* With its highest bit set the key is that of the sender (10.2.5). */
		packet->qkey = cpu_to_le32(ud->remote_qkey & 0x80000000 ? qp->qkey :
									  ud->remote_qkey);
		packet->pkey = cpu_to_le16(be16_to_cpu(port->pkeys[index % SIMIB_PKEYS]));
	}
	if (wr->send_flags & IB_SEND_SOLICITED)
		packet->flags |= SIMIB_PACKET_SOLICITED;
	if (rdma_ah_get_ah_flags(&ah->attr) & IB_AH_GRH)
		put_grh(parcel, ah);
}

/* Sends one work request; its completion is the caller's. */
int simib_transmit(struct simib_qp *qp, const struct ib_send_wr *wr)
{
	struct simib_port *port = &to_hca(qp->ib.device)->port[qp->port - 1];
	struct parcel *parcel;
	int error;

	if (wr->opcode != IB_WR_SEND || !ud_wr(wr)->ah)
		return -EINVAL;
	parcel = kzalloc(sizeof(*parcel), GFP_ATOMIC);
	if (!parcel)
		return -ENOMEM;
	error = gather(parcel, wr);
	if (!error) {
		address(parcel, port, qp, wr);
		send_parcel(port, qp, parcel);
	}
	kfree(parcel);
	return error;
}

/* An SMP of the HCA itself. */
void simib_transmit_smp(struct simib_port *port, u16 dlid, u8 sl, const struct ib_smp *smp)
{
	struct parcel *parcel = kzalloc(sizeof(*parcel), GFP_ATOMIC);

	if (!parcel)
		return;
	parcel->packet.slid = cpu_to_le16(be16_to_cpu(port->info.lid));
	parcel->packet.dlid = cpu_to_le16(dlid);
	parcel->packet.sl = sl;
	parcel->length = MAD_BYTES;
	memcpy(parcel->payload, smp, sizeof(*smp));
	send_parcel(port, NULL, parcel);
	kfree(parcel);
}

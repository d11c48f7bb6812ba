// SPDX-License-Identifier: GPL-2.0
/* The subnet management agent (IBA vol 1 14.2). ib_mad does the hop pointer of directed routes. */
#include "simib.h"

#define STATUS_OK 0
#define STATUS_BAD_VERSION cpu_to_be16(IB_MGMT_MAD_STATUS_BAD_VERSION)
#define STATUS_UNSUPPORTED cpu_to_be16(IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB)
#define STATUS_BAD_VALUE cpu_to_be16(IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE)

#define VENDOR_ID { 0x53, 0x49, 0x4d }
#define DEVICE_ID 0x1b

/* One request at the agent, with the lock of its HCA held. */
struct request {
	struct simib_port *port;	/* that it came in by */
	struct ib_smp *smp;		/* becomes the response */
	bool set;
	bool knows_mkey;
	bool retrain;
	struct simib_events *events;
};

static u8 protection(const struct simib_port *port)
{
	return port->info.mkeyprot_resv_lmc >> 6;
}

/* The lease has run out: the key is no secret any more (14.2.4.2). */
static void check_lease(struct simib_port *port)
{
	if (!port->lease_end || time_before(jiffies, port->lease_end))
		return;
	port->lease_end = 0;
	port->info.mkeyprot_resv_lmc &= 0x3f;
}

static void note_violation(struct simib_port *port, const struct ib_smp *smp, u16 slid)
{
	u16 period = be16_to_cpu(port->info.mkey_lease_period);

	if (port->info.mkey_violations != cpu_to_be16(0xffff))
		be16_add_cpu(&port->info.mkey_violations, 1);
	if (period && !port->lease_end)
		port->lease_end = (jiffies + period * HZ) ?: 1;
	simib_raise_bad_mkey(port, smp, slid);
}

static bool passes_mkey(struct request *request, bool ignore, u16 slid)
{
	struct simib_port *port = request->port;
	const struct ib_smp *smp = request->smp;

	check_lease(port);
	request->knows_mkey = ignore || !port->info.mkey || smp->mkey == port->info.mkey;
	if (request->knows_mkey) {
		port->lease_end = 0;
		return true;
	}
	if (smp->method == IB_MGMT_METHOD_GET && protection(port) < 2)
		return true;
	note_violation(port, smp, slid);
	return false;
}

/* The port that an attribute modifier names, 0 for the one that the request came in by. */
static struct simib_port *port_of(struct request *request, u32 number)
{
	struct simib_hca *hca = request->port->hca;

	if (!number)
		return request->port;
	return number <= hca->ports ? &hca->port[number - 1] : NULL;
}

static __be16 node_info(struct request *request)
{
	struct simib_hca *hca = request->port->hca;
	struct ib_node_info info = {
		.base_version = IB_MGMT_BASE_VERSION,
		.class_version = 1,
		.node_type = RDMA_NODE_IB_CA,
		.num_ports = hca->ports,
		.sys_guid = hca->ib.node_guid,
		.node_guid = hca->ib.node_guid,
		.port_guid = request->port->guids[0],
		.partition_cap = cpu_to_be16(SIMIB_PKEYS),
		.device_id = cpu_to_be16(DEVICE_ID),
		.revision = cpu_to_be32(1),
		.local_port_num = request->port->number,
		.vendor_id = VENDOR_ID,
	};

	if (request->set || request->smp->attr_mod)
		return request->set ? STATUS_UNSUPPORTED : STATUS_BAD_VALUE;
	memcpy(request->smp->data, &info, sizeof(info));
	return STATUS_OK;
}

static __be16 node_description(struct request *request)
{
	if (request->set)
		return STATUS_UNSUPPORTED;
	memcpy(request->smp->data, request->port->hca->ib.node_desc, IB_DEVICE_NODE_DESC_MAX);
	return STATUS_OK;
}

static void get_port_info(struct request *request, struct simib_port *port)
{
	struct ib_port_info *info = (void *)request->smp->data;

	memset(info, 0, IB_SMP_DATA_SIZE);
	*info = port->info;
	info->local_port_num = request->port->number;
	if (!request->knows_mkey && protection(port))
		info->mkey = 0;
	/* LinkSpeedExtActive, -Supported, -Enabled (14.2.5.6). */
	request->smp->data[62] = port->speed_ext_active << 4 | 0xf;
	request->smp->data[63] = port->speed_ext_enabled & 0x1f;
}

/* Whether the value of an enabled-field names only what is supported; all ones: all of it. */
static bool valid_enabled(u8 value, u8 supported, u8 all)
{
	return !value || value == all || !(value & ~supported);
}

static bool valid_transition(u8 from, u8 to)
{
	switch (to) {
	case IB_PORT_NOP:
	case IB_PORT_DOWN:
		return true;
	case IB_PORT_ARMED:
		return from == IB_PORT_INIT || from == IB_PORT_ARMED;
	case IB_PORT_ACTIVE:
		return from == IB_PORT_ARMED || from == IB_PORT_ACTIVE;
	default:
		return false;
	}
}

static bool valid_port_info(const struct simib_port *port, const struct ib_port_info *to)
{
	const struct ib_port_info *from = &port->info;
	u8 mtu = to->neighbormtu_mastersmsl >> 4;

	return valid_transition(simib_port_state(port), to->linkspeed_portstate & 0xf) &&
	       (to->portphysstate_linkdown >> 4) <= 3 &&
	       (to->portphysstate_linkdown & 0xf) <= 2 &&
	       be16_to_cpu(to->lid) < be16_to_cpu(IB_MULTICAST_LID_BASE) &&
	       be16_to_cpu(to->sm_lid) < be16_to_cpu(IB_MULTICAST_LID_BASE) &&
	       mtu >= 1 && mtu <= (from->inittypereply_mtucap & 0xf) &&
	       to->operationalvl_pei_peo_fpi_fpo >> 4 <= from->vlcap_inittype >> 4 &&
	       valid_enabled(to->link_width_enabled, from->link_width_supported, 0xff) &&
	       valid_enabled(to->linkspeedactive_enabled & 0xf, from->linkspeed_portstate >> 4, 0xf);
}

static void set_addresses(struct request *request, struct simib_port *port,
			  const struct ib_port_info *to)
{
	struct ib_port_info *info = &port->info;
	unsigned long *types = &request->events->types;

	if (info->lid != to->lid || (info->mkeyprot_resv_lmc ^ to->mkeyprot_resv_lmc) & 7)
		__set_bit(IB_EVENT_LID_CHANGE, types);
	if (info->sm_lid != to->sm_lid ||
	    (info->neighbormtu_mastersmsl ^ to->neighbormtu_mastersmsl) & 0xf)
		__set_bit(IB_EVENT_SM_CHANGE, types);
	if (info->gid_prefix != to->gid_prefix)
		__set_bit(IB_EVENT_GID_CHANGE, types);
	if (to->clientrereg_resv_subnetto & 0x80)
		__set_bit(IB_EVENT_CLIENT_REREGISTER, types);
	info->lid = to->lid;
	info->sm_lid = to->sm_lid;
	info->gid_prefix = to->gid_prefix;
}

static void set_enabled(struct simib_port *port, const struct ib_port_info *to, u8 ext)
{
	struct ib_port_info *info = &port->info;
	u8 speed = to->linkspeedactive_enabled & 0xf;

	if (to->link_width_enabled)
		info->link_width_enabled = to->link_width_enabled == 0xff ?
			info->link_width_supported : to->link_width_enabled;
	if (speed == 0xf)
		speed = info->linkspeed_portstate >> 4;
	if (speed)
		info->linkspeedactive_enabled = (info->linkspeedactive_enabled & 0xf0) | speed;
	if (ext & 0x1f)
		port->speed_ext_enabled = ext & 0x1f;
	if (to->portphysstate_linkdown & 0xf)
		info->portphysstate_linkdown = (info->portphysstate_linkdown & 0xf0) |
					       (to->portphysstate_linkdown & 0xf);
	if (to->operationalvl_pei_peo_fpi_fpo >> 4)
		info->operationalvl_pei_peo_fpi_fpo = to->operationalvl_pei_peo_fpi_fpo & 0xf0;
}

static void set_rest(struct simib_port *port, const struct ib_port_info *to)
{
	struct ib_port_info *info = &port->info;

	info->mkey = to->mkey;
	info->mkey_lease_period = to->mkey_lease_period;
	info->mkeyprot_resv_lmc = to->mkeyprot_resv_lmc & 0xc7;
	info->neighbormtu_mastersmsl = to->neighbormtu_mastersmsl;
	info->vl_high_limit = to->vl_high_limit;
	info->clientrereg_resv_subnetto = to->clientrereg_resv_subnetto & 0x1f;
	info->localphyerrors_overrunerrors = to->localphyerrors_overrunerrors;
	/* Violation counters are cleared by writing 0. */
	if (!to->mkey_violations)
		info->mkey_violations = 0;
	if (!to->pkey_violations)
		info->pkey_violations = 0;
	if (!to->qkey_violations)
		info->qkey_violations = 0;
}

static void set_states(struct request *request, struct simib_port *port,
		       const struct ib_port_info *to)
{
	u8 state = to->linkspeed_portstate & 0xf;
	u8 physical = to->portphysstate_linkdown >> 4;

	if (physical || state == IB_PORT_DOWN) {
		simib_take_down(port, physical ?: 2, request->events);
		request->retrain = true;
	} else if (state) {
		simib_set_state(port, state, request->events);
	}
}

static __be16 port_info(struct request *request)
{
	struct simib_port *port = port_of(request, be32_to_cpu(request->smp->attr_mod) & 0xff);
	struct ib_port_info *to = (void *)request->smp->data;
	u8 reregister = to->clientrereg_resv_subnetto & 0x80;

	if (!port)
		return STATUS_BAD_VALUE;
	if (request->set) {
		if (!valid_port_info(port, to)) {
			get_port_info(request, port);
			return STATUS_BAD_VALUE;
		}
		request->events->port = port;
		set_addresses(request, port, to);
		set_enabled(port, to, request->smp->data[63]);
		set_rest(port, to);
		set_states(request, port, to);
		simib_tell_port(port, request->retrain);
		request->knows_mkey = true;
	}
	get_port_info(request, port);
	if (request->set)
		to->clientrereg_resv_subnetto |= reregister;
	return STATUS_OK;
}

static __be16 pkey_table(struct request *request)
{
	u32 block = be32_to_cpu(request->smp->attr_mod);
	__be16 *entries;

	if (block >= SIMIB_PKEYS / 32)
		return STATUS_BAD_VALUE;
	entries = request->port->pkeys + 32 * block;
	if (request->set && memcmp(entries, request->smp->data, IB_SMP_DATA_SIZE)) {
		memcpy(entries, request->smp->data, IB_SMP_DATA_SIZE);
		__set_bit(IB_EVENT_PKEY_CHANGE, &request->events->types);
	}
	memcpy(request->smp->data, entries, IB_SMP_DATA_SIZE);
	return STATUS_OK;
}

static __be16 guid_info(struct request *request)
{
	u32 block = be32_to_cpu(request->smp->attr_mod);
	u32 kept = block ? 0 : sizeof(__be64);	/* The first one is the port's own. */
	u8 *entries;

	if (block >= SIMIB_GUIDS / 8)
		return STATUS_BAD_VALUE;
	entries = (u8 *)(request->port->guids + 8 * block);
	if (request->set) {
		memcpy(entries + kept, request->smp->data + kept, IB_SMP_DATA_SIZE - kept);
		__set_bit(IB_EVENT_GID_CHANGE, &request->events->types);
	}
	memcpy(request->smp->data, entries, IB_SMP_DATA_SIZE);
	return STATUS_OK;
}

static __be16 sl_to_vl(struct request *request)
{
	struct simib_port *port = request->port;

	if (request->set)
		memcpy(port->sl_to_vl, request->smp->data, sizeof(port->sl_to_vl));
	memset(request->smp->data, 0, IB_SMP_DATA_SIZE);
	memcpy(request->smp->data, port->sl_to_vl, sizeof(port->sl_to_vl));
	return STATUS_OK;
}

static __be16 vl_arbitration(struct request *request)
{
	u32 modifier = be32_to_cpu(request->smp->attr_mod);
	struct simib_port *port = port_of(request, modifier & 0xffff);
	u32 table = modifier >> 16;

	if (!port || table < 1 || table > ARRAY_SIZE(port->arbitration))
		return STATUS_BAD_VALUE;
	if (request->set)
		memcpy(port->arbitration[table - 1], request->smp->data, IB_SMP_DATA_SIZE);
	memcpy(request->smp->data, port->arbitration[table - 1], IB_SMP_DATA_SIZE);
	return STATUS_OK;
}

static __be16 serve(struct request *request)
{
	if (request->smp->base_version != 1 || request->smp->class_version != 1)
		return STATUS_BAD_VERSION;
	switch (request->smp->attr_id) {
	case IB_SMP_ATTR_NODE_INFO:
		return node_info(request);
	case IB_SMP_ATTR_NODE_DESC:
		return node_description(request);
	case IB_SMP_ATTR_PORT_INFO:
		return port_info(request);
	case IB_SMP_ATTR_PKEY_TABLE:
		return pkey_table(request);
	case IB_SMP_ATTR_GUID_INFO:
		return guid_info(request);
	case IB_SMP_ATTR_SL_TO_VL_TABLE:
		return sl_to_vl(request);
	case IB_SMP_ATTR_VL_ARB_TABLE:
		return vl_arbitration(request);
	default:
		return STATUS_UNSUPPORTED;
	}
}

static int answer(struct request *request)
{
	struct ib_smp *smp = request->smp;

	if (smp->method == IB_MGMT_METHOD_TRAP_REPRESS) {
		simib_repress(request->port, smp->tid);
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	}
	smp->status = serve(request);
	smp->method = IB_MGMT_METHOD_GET_RESP;
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
		smp->status |= IB_SMP_DIRECTION;
	return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
}

/* Whether the agent itself serves it; the rest is for whoever has registered with ib_mad. */
static bool is_for_agent(const struct ib_smp *smp)
{
	if (smp->method == IB_MGMT_METHOD_TRAP_REPRESS)
		return true;
	return (smp->method == IB_MGMT_METHOD_GET || smp->method == IB_MGMT_METHOD_SET) &&
	       smp->attr_id != IB_SMP_ATTR_SM_INFO;
}

static int process_smp(struct simib_port *port, int flags, const struct ib_wc *wc,
		       const struct ib_mad *in, struct ib_mad *out)
{
	struct simib_events events = { .port = port };
	struct request request = {
		.port = port,
		.smp = (struct ib_smp *)out,
		.set = in->mad_hdr.method == IB_MGMT_METHOD_SET,
		.events = &events,
	};
	unsigned long irq;
	int result;

	if (!is_for_agent((const struct ib_smp *)in))
		return IB_MAD_RESULT_SUCCESS;
	*out = *in;
	spin_lock_irqsave(&port->hca->lock, irq);
	if (passes_mkey(&request, flags & IB_MAD_IGNORE_MKEY, wc ? wc->slid : 0))
		result = answer(&request);
	else
		result = IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	spin_unlock_irqrestore(&port->hca->lock, irq);
	simib_dispatch(&events);
	return result;
}

static int process_perf(struct simib_port *port, const struct ib_mad *in, struct ib_mad *out)
{
	unsigned long irq;
	bool answered;

	spin_lock_irqsave(&port->hca->lock, irq);
	answered = simib_perf_mad(port, in, out);
	spin_unlock_irqrestore(&port->hca->lock, irq);
	return IB_MAD_RESULT_SUCCESS | (answered ? IB_MAD_RESULT_REPLY : 0);
}

/* Atomic: ib_mad also calls it for SMPs of no hops, where it may not sleep. */
int simib_process_mad(struct ib_device *ib, int flags, u32 number, const struct ib_wc *wc,
		      const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index)
{
	struct simib_port *port = to_port(ib, number);

	switch (in->mad_hdr.mgmt_class) {
	case IB_MGMT_CLASS_SUBN_LID_ROUTED:
	case IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE:
		return process_smp(port, flags, wc, in, out);
	case IB_MGMT_CLASS_PERF_MGMT:
		return process_perf(port, in, out);
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
}

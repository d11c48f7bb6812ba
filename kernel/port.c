// SPDX-License-Identifier: GPL-2.0
/* The registers of a port and its state machine (IBA vol 1 7.2.7), as far as an HCA has them. */
#include "simib.h"

#define PHYS_POLLING 2
#define PHYS_DISABLED 3
#define PHYS_LINK_UP 5

#define WIDTHS 0x03		/* 1x, 4x */
#define SPEEDS 0x07		/* SDR, DDR, QDR */
#define MTU_4096 5
#define VL_CAP 4		/* VL0-7 */

static const u32 capabilities = IB_PORT_SL_MAP_SUP | IB_PORT_TRAP_SUP | IB_PORT_SYS_IMAGE_GUID_SUP |
				IB_PORT_CLIENT_REG_SUP | IB_PORT_EXTENDED_SPEEDS_SUP;

void simib_port_init(struct simib_port *port, struct simib_hca *hca, u32 number, u64 guid)
{
	struct ib_port_info *info = &port->info;
	int i;

	port->hca = hca;
	port->number = number;
	port->guids[0] = cpu_to_be64(guid);
	port->pkeys[0] = cpu_to_be16(IB_DEFAULT_PKEY_FULL);
	port->link_mtu = MTU_4096;
	port->speed_ext_enabled = 0x1f;
	for (i = 0; i < ARRAY_SIZE(port->sl_to_vl); i++)
		port->sl_to_vl[i] = ((2 * i) % SIMIB_VLS) << 4 | (2 * i + 1) % SIMIB_VLS;
	info->gid_prefix = cpu_to_be64(0xfe80000000000000ULL);
	info->cap_mask = cpu_to_be32(capabilities);
	info->local_port_num = number;
	info->link_width_enabled = WIDTHS;
	info->link_width_supported = WIDTHS;
	info->link_width_active = 2;
	info->linkspeed_portstate = SPEEDS << 4 | IB_PORT_DOWN;
	info->portphysstate_linkdown = PHYS_POLLING << 4 | PHYS_POLLING;
	info->linkspeedactive_enabled = 1 << 4 | SPEEDS;
	info->neighbormtu_mastersmsl = MTU_4096 << 4;
	info->vlcap_inittype = VL_CAP << 4;
	info->vl_arb_high_cap = 64;
	info->vl_arb_low_cap = 64;
	info->inittypereply_mtucap = MTU_4096;
	info->operationalvl_pei_peo_fpi_fpo = VL_CAP << 4;
	info->guid_cap = SIMIB_GUIDS;
	info->resv_resptimevalue = 16;
	timer_setup(&port->trap_timer, simib_trap_timer, 0);
}

u8 simib_port_state(const struct simib_port *port)
{
	return port->info.linkspeed_portstate & 0xf;
}

u8 simib_physical_state(const struct simib_port *port)
{
	return port->info.portphysstate_linkdown >> 4;
}

static void set_physical_state(struct simib_port *port, u8 state)
{
	port->info.portphysstate_linkdown = state << 4 | (port->info.portphysstate_linkdown & 0xf);
}

void simib_set_state(struct simib_port *port, u8 state, struct simib_events *events)
{
	u8 before = simib_port_state(port);

	port->info.linkspeed_portstate = (port->info.linkspeed_portstate & 0xf0) | state;
	if (state == IB_PORT_ACTIVE && before != IB_PORT_ACTIVE)
		__set_bit(IB_EVENT_PORT_ACTIVE, &events->types);
	if (state != IB_PORT_ACTIVE && before == IB_PORT_ACTIVE)
		__set_bit(IB_EVENT_PORT_ERR, &events->types);
}

bool simib_owns_lid(const struct simib_port *port, u16 lid)
{
	u16 mask = 0xffff << (port->info.mkeyprot_resv_lmc & 7);

	return port->info.lid && (lid & mask) == be16_to_cpu(port->info.lid);
}

void simib_take_down(struct simib_port *port, u8 physical_state, struct simib_events *events)
{
	if (simib_port_state(port) != IB_PORT_DOWN)
		port->counters[SIMIB_LINK_DOWNED]++;
	simib_set_state(port, IB_PORT_DOWN, events);
	set_physical_state(port, physical_state);
}

static void come_up(struct simib_port *port, const struct simib_link *link,
		    struct simib_events *events)
{
	struct ib_port_info *info = &port->info;

	set_physical_state(port, PHYS_LINK_UP);
	info->link_width_active = link->width_active;
	info->linkspeedactive_enabled =
		link->speed_active << 4 | (info->linkspeedactive_enabled & 0xf);
	port->speed_ext_active = link->speed_ext_active & 0xf;
	port->link_mtu = clamp_t(u8, link->mtu, 1, MTU_4096);
	simib_set_state(port, IB_PORT_INIT, events);
}

void simib_link(struct simib_port *port, const struct simib_link *link,
		struct simib_events *events)
{
	if (simib_physical_state(port) == PHYS_DISABLED)
		return;
	if (!link->up)
		simib_take_down(port, port->info.portphysstate_linkdown & 0xf, events);
	else if (simib_port_state(port) == IB_PORT_DOWN)
		come_up(port, link, events);
	simib_tell_port(port, false);
}

/* Tells the wire, if there is something that it has not heard. */
void simib_tell_port(struct simib_port *port, bool retrain)
{
	struct simib_port_state state = {
		.capability_mask = cpu_to_le32(be32_to_cpu(port->info.cap_mask)),
		.lid = cpu_to_le16(be16_to_cpu(port->info.lid)),
		.sm_lid = cpu_to_le16(be16_to_cpu(port->info.sm_lid)),
		.lmc = port->info.mkeyprot_resv_lmc & 7,
		.state = simib_port_state(port),
		.physical_state = simib_physical_state(port),
		.retrain = retrain,
	};

	if (!retrain && !memcmp(&state, &port->reported, sizeof(state)))
		return;
	simib_wire_port(port, &state);
	state.retrain = 0;
	port->reported = state;
}

// SPDX-License-Identifier: GPL-2.0
/* What an HCA reports to its subnet manager (IBA vol 1 13.4.9, 14.2.5.1), until it is repressed. */
#include "simib.h"

#define MAX_SENDS 10
#define MIN_INTERVAL_MS 100

#define TYPE_URGENT 1
#define TYPE_SECURITY 2
#define TYPE_INFORMATIONAL 4

#define DETAILS_AT 10
#define PRODUCER_CA 1

static const struct {
	u16 number;
	u8 type;
} kinds[SIMIB_TRAPS] = {
	[SIMIB_TRAP_LINK_INTEGRITY] = { 129, TYPE_URGENT },
	[SIMIB_TRAP_BUFFER_OVERRUN] = { 130, TYPE_URGENT },
	[SIMIB_TRAP_FLOW_CONTROL] = { 131, TYPE_URGENT },
	[SIMIB_TRAP_CAPABILITY_MASK] = { 144, TYPE_INFORMATIONAL },
	[SIMIB_TRAP_BAD_MKEY] = { 256, TYPE_SECURITY },
	[SIMIB_TRAP_BAD_PKEY] = { 257, TYPE_SECURITY },
	[SIMIB_TRAP_BAD_QKEY] = { 258, TYPE_SECURITY },
};

static void put_be16(u8 *at, u16 value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static void put_be32(u8 *at, u32 value)
{
	put_be16(at, value >> 16);
	put_be16(at + 2, value);
}

/* The time between two sends: SubnetTimeOut is 4.096 us * 2^n. */
static unsigned long interval(const struct simib_port *port)
{
	u64 us = (4096ULL << (port->info.clientrereg_resv_subnetto & 0x1f)) / 1000;

	return msecs_to_jiffies(clamp_t(u64, us / 1000, MIN_INTERVAL_MS, 10000));
}

static void send_trap(struct simib_port *port, enum simib_trap_kind kind)
{
	struct simib_pending_trap *trap = &port->traps[kind];
	struct ib_smp smp = {
		.base_version = IB_MGMT_BASE_VERSION,
		.mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED,
		.class_version = 1,
		.method = IB_MGMT_METHOD_TRAP,
		.tid = cpu_to_be64(trap->tid),
		.attr_id = IB_SMP_ATTR_NOTICE,
		.mkey = port->info.mkey,
	};

	smp.data[0] = 0x80 | kinds[kind].type;
	smp.data[3] = PRODUCER_CA;
	put_be16(smp.data + 4, kinds[kind].number);
	put_be16(smp.data + 6, be16_to_cpu(port->info.lid));
	memcpy(smp.data + DETAILS_AT, trap->details, sizeof(trap->details));
	simib_transmit_smp(port, be16_to_cpu(port->info.sm_lid),
			   port->info.neighbormtu_mastersmsl & 0xf, &smp);
	trap->sends_left--;
}

/* details: NULL: those of the port's registers. The one that is pending keeps its number. */
void simib_raise(struct simib_port *port, enum simib_trap_kind kind, const u8 *details)
{
	struct simib_pending_trap *trap = &port->traps[kind];

	if (!port->info.lid || !port->info.sm_lid || simib_port_state(port) < IB_PORT_INIT)
		return;
	memset(trap->details, 0, sizeof(trap->details));
	if (details) {
		memcpy(trap->details, details, sizeof(trap->details));
	} else {
		put_be16(trap->details + 2, be16_to_cpu(port->info.lid));
		if (kind == SIMIB_TRAP_CAPABILITY_MASK)
			put_be32(trap->details + 6, be32_to_cpu(port->info.cap_mask));
		else
			trap->details[4] = port->number;
	}
	trap->sends_left = MAX_SENDS;
	trap->tid = ++port->hca->tid;
	trap->pending = true;
	send_trap(port, kind);
	if (!timer_pending(&port->trap_timer))
		mod_timer(&port->trap_timer, jiffies + interval(port));
}

void simib_raise_bad_mkey(struct simib_port *port, const struct ib_smp *smp, u16 slid)
{
	u8 details[54] = {};
	u8 hops = min_t(u8, smp->hop_cnt, 30);

	put_be16(details + 2, slid);
	details[6] = smp->method;
	put_be16(details + 8, be16_to_cpu(smp->attr_id));
	put_be32(details + 10, be32_to_cpu(smp->attr_mod));
	memcpy(details + 14, &smp->mkey, sizeof(smp->mkey));
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE) {
		put_be16(details + 4, be16_to_cpu(smp->dr_slid));
		details[23] = IB_NOTICE_TRAP_DR_NOTICE | hops;
		if (hops != smp->hop_cnt)
			details[23] |= IB_NOTICE_TRAP_DR_TRUNC;
		memcpy(details + 24, smp->return_path + 1, hops);
	}
	simib_raise(port, SIMIB_TRAP_BAD_MKEY, details);
}

/* A packet was refused for its P_Key or Q_Key. */
void simib_raise_bad_key(struct simib_port *port, enum simib_trap_kind kind,
			 const struct simib_packet *packet, const u8 *grh)
{
	u8 details[54] = {};

	put_be16(details + 2, le16_to_cpu(packet->slid));
	put_be16(details + 4, le16_to_cpu(packet->dlid));
	put_be32(details + 6, kind == SIMIB_TRAP_BAD_PKEY ? le16_to_cpu(packet->pkey) :
							    le32_to_cpu(packet->qkey));
	put_be32(details + 10, packet->sl << 28 | le32_to_cpu(packet->source_qpn));
	put_be32(details + 14, le32_to_cpu(packet->destination_qpn));
	if (grh)
		memcpy(details + 18, grh + 8, 32);
	simib_raise(port, kind, details);
}

void simib_repress(struct simib_port *port, __be64 tid)
{
	int kind;

	for (kind = 0; kind < SIMIB_TRAPS; kind++)
		if (port->traps[kind].pending && port->traps[kind].tid == be64_to_cpu(tid))
			port->traps[kind].pending = false;
}

void simib_trap_timer(struct timer_list *timer)
{
	struct simib_port *port = from_timer(port, timer, trap_timer);
	bool again = false;
	unsigned long irq;
	int kind;

	spin_lock_irqsave(&port->hca->lock, irq);
	for (kind = 0; kind < SIMIB_TRAPS; kind++) {
		if (!port->traps[kind].pending)
			continue;
		if (port->traps[kind].sends_left > 0) {
			send_trap(port, kind);
			again = true;
		} else {
			port->traps[kind].pending = false;
		}
	}
	if (again)
		mod_timer(&port->trap_timer, jiffies + interval(port));
	spin_unlock_irqrestore(&port->hca->lock, irq);
}

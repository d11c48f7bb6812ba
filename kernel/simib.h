/* SPDX-License-Identifier: GPL-2.0 */
/*
 * simib: virtual HCAs whose wire is a character device.
 *
 * main.c     the module, the HCAs and their registration
 * verbs.c    protection domains, address handles, queue pairs, completion queues, multicast
 * traffic.c  how packets leave and reach queue pairs
 * port.c     the registers and state machine of a port
 * sma.c      the subnet management agent
 * trap.c     what an HCA reports to the subnet manager
 * pma.c      the performance management agent
 * wire.c     /dev/simib
 *
 * Locks: simib_hca.lock (taken from any context) guards all of an HCA: ports, queue pairs,
 * completion queues. Under it only the lock of the wire's queue is taken. Events of ib_core are
 * collected in struct simib_events and dispatched when the lock is released.
 */
#ifndef SIMIB_H
#define SIMIB_H

#include <linux/interrupt.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>

#include "simib_wire.h"

#define SIMIB_MAX_HCAS 256
#define SIMIB_MAX_PORTS 2
#define SIMIB_PKEYS 128
#define SIMIB_GUIDS 32
#define SIMIB_VLS 8
#define SIMIB_MAX_WRS 16384
#define SIMIB_MAX_CQES 65536
#define SIMIB_MAX_SGES 32

struct simib_pd {
	struct ib_pd ib;
};

struct simib_cq {
	struct ib_cq ib;
	struct tasklet_struct tasklet;	/* calls the handler outside of all locks */
	struct ib_wc *ring;
	u32 size, head, count;
	enum ib_cq_notify_flags armed;	/* 0: not */
};

struct simib_recv {
	struct ib_cqe *cqe_or_id;	/* wr_cqe or wr_id, which share their place */
	int sges;
	struct ib_sge sge[SIMIB_MAX_SGES];
};

struct simib_qp {
	struct ib_qp ib;
	enum ib_qp_state state;
	u32 port;
	u16 pkey_index;
	u32 qkey;
	struct ib_qp_init_attr init;
	struct simib_recv *recvs;
	u32 recv_size, recv_head, recv_count, recv_sges;
};

struct simib_ah {
	struct ib_ah ib;
	struct rdma_ah_attr attr;
	union ib_gid sgid;
};

struct simib_attachment {
	struct list_head list;
	struct simib_qp *qp;
	union ib_gid gid;
};

enum simib_trap_kind {
	SIMIB_TRAP_LINK_INTEGRITY,
	SIMIB_TRAP_BUFFER_OVERRUN,
	SIMIB_TRAP_FLOW_CONTROL,
	SIMIB_TRAP_CAPABILITY_MASK,
	SIMIB_TRAP_BAD_MKEY,
	SIMIB_TRAP_BAD_PKEY,
	SIMIB_TRAP_BAD_QKEY,
	SIMIB_TRAPS
};

/* One that was raised and is not repressed yet. */
struct simib_pending_trap {
	bool pending;
	int sends_left;
	u64 tid;
	u8 details[54];
};

struct simib_port {
	struct simib_hca *hca;
	u32 number;
	struct ib_port_info info;	/* as a Get answers it */
	u8 speed_ext_active, speed_ext_enabled;
	u8 link_mtu;
	unsigned long lease_end;	/* jiffies; 0: no lease runs */
	__be16 pkeys[SIMIB_PKEYS];
	__be64 guids[SIMIB_GUIDS];
	u8 sl_to_vl[8];
	struct ib_vl_weight_elem arbitration[4][32];	/* low 0-31, 32-63, high 0-31, 32-63 */
	u64 counters[SIMIB_COUNTERS];
	struct simib_qp *special[2];	/* QP 0 and QP 1 */
	struct simib_pending_trap traps[SIMIB_TRAPS];
	struct timer_list trap_timer;
	struct simib_port_state reported;	/* what the wire has heard last */
};

struct simib_hca {
	struct ib_device ib;
	spinlock_t lock;
	u16 index;
	u32 ports;
	u64 tid;
	struct simib_port port[SIMIB_MAX_PORTS];
	struct xarray qps;		/* by number, the special ones apart */
	u32 next_qpn;
	struct list_head attachments;
};

/* Events to dispatch for one port once the lock is released. */
struct simib_events {
	struct simib_port *port;
	unsigned long types;		/* bits of enum ib_event_type */
};

static inline struct simib_hca *to_hca(struct ib_device *ib)
{
	return container_of(ib, struct simib_hca, ib);
}

static inline struct simib_qp *to_qp(struct ib_qp *ib)
{
	return container_of(ib, struct simib_qp, ib);
}

static inline struct simib_cq *to_cq(struct ib_cq *ib)
{
	return container_of(ib, struct simib_cq, ib);
}

static inline struct simib_ah *to_ah(struct ib_ah *ib)
{
	return container_of(ib, struct simib_ah, ib);
}

static inline struct simib_port *to_port(struct ib_device *ib, u32 number)
{
	return &to_hca(ib)->port[number - 1];
}

/* main.c */
struct simib_hca *simib_get(u16 index);	/* NULL: not there; else simib_put() ends it */
void simib_put(void);
int simib_add(u16 index, u64 node_guid);	/* 0: the GUID that it had */
void simib_remove(u16 index);
void simib_for_each(void (*visit)(struct simib_hca *hca));
void simib_dispatch(const struct simib_events *events);

/* verbs.c */
extern const struct ib_device_ops simib_verbs_ops;
void simib_complete(struct simib_cq *cq, const struct ib_wc *wc, bool solicited);

/* traffic.c: simib_hca.lock is held */
int simib_transmit(struct simib_qp *qp, const struct ib_send_wr *wr);
void simib_receive(struct simib_port *port, const struct simib_packet *packet, const u8 *grh,
		   const u8 *payload, u32 length, struct simib_events *events);
void simib_transmit_smp(struct simib_port *port, u16 dlid, u8 sl, const struct ib_smp *smp);
int simib_find_pkey(const struct simib_port *port, u16 pkey);	/* the index, or -1 */

/* port.c: simib_hca.lock is held */
void simib_port_init(struct simib_port *port, struct simib_hca *hca, u32 number, u64 guid);
u8 simib_port_state(const struct simib_port *port);
u8 simib_physical_state(const struct simib_port *port);
void simib_set_state(struct simib_port *port, u8 state, struct simib_events *events);
void simib_link(struct simib_port *port, const struct simib_link *link,
		struct simib_events *events);
void simib_take_down(struct simib_port *port, u8 physical_state, struct simib_events *events);
bool simib_owns_lid(const struct simib_port *port, u16 lid);
void simib_tell_port(struct simib_port *port, bool retrain);

/* sma.c */
int simib_process_mad(struct ib_device *ib, int flags, u32 number, const struct ib_wc *wc,
		      const struct ib_grh *grh, const struct ib_mad *in, struct ib_mad *out,
		      size_t *out_size, u16 *out_pkey_index);

/* trap.c: simib_hca.lock is held, but for simib_trap_timer and simib_stop_traps */
void simib_raise(struct simib_port *port, enum simib_trap_kind kind, const u8 *details);
void simib_raise_bad_mkey(struct simib_port *port, const struct ib_smp *smp, u16 slid);
void simib_raise_bad_key(struct simib_port *port, enum simib_trap_kind kind,
			 const struct simib_packet *packet, const u8 *grh);
void simib_repress(struct simib_port *port, __be64 tid);
void simib_trap_timer(struct timer_list *timer);

/* pma.c: simib_hca.lock is held */
bool simib_perf_mad(struct simib_port *port, const struct ib_mad *in, struct ib_mad *out);

/* wire.c */
int simib_wire_init(void);
void simib_wire_exit(void);
void simib_wire_packet(const struct simib_port *port, const struct simib_packet *packet,
		       const u8 *grh, const u8 *payload, u32 length);
void simib_wire_port(const struct simib_port *port, const struct simib_port_state *state);
void simib_wire_hello(struct simib_hca *hca);
void simib_wire_gone(u16 index);

#endif

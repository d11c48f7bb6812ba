/* SPDX-License-Identifier: GPL-2.0 OR Apache-2.0 */
/*
 * The wire of simib: the frames that pass through /dev/simib.
 *
 * The module has virtual HCAs; whoever opens the device is the fabric that their ports are cabled
 * to. Each read() takes one whole frame (EMSGSIZE if the buffer is too small: SIMIB_MAX_FRAME always
 * suffices; EAGAIN with O_NONBLOCK and nothing to read), each write() gives one whole frame. poll()
 * tells when a frame waits. One process has it open at a time (EBUSY). All integers are
 * little-endian, unless a field says that it is a piece of an InfiniBand packet, which stays as the
 * specification has it (big-endian).
 *
 * On open() the module queues one HELLO for each HCA and one PORT for each port of it. A port has no
 * link until a LINK says so; when the device is closed all links go down.
 *
 * An HCA is named by its index (0, 1, ...; the parameter "first" of the module says where they begin), a
 * port by its number (1, 2). Frames may follow each other on a stream of bytes, as they have their
 * length: that is how several kernels share a fabric (`fabricsim relay`).
 */
#ifndef SIMIB_WIRE_H
#define SIMIB_WIRE_H

#include <linux/types.h>

#define SIMIB_WIRE_VERSION 1

/* Every frame begins with this. */
struct simib_header {
	__u8 version;	/* SIMIB_WIRE_VERSION; another one is refused (EPROTO) */
	__u8 type;	/* enum simib_type */
	__u8 port;	/* of that HCA; 0: the HCA as a whole */
	__u8 reserved;	/* 0 */
	__le16 hca;
	__le16 length;	/* of the whole frame in bytes, this header included */
};

enum simib_type {
	SIMIB_PACKET = 1,	/* both ways: struct simib_packet */
	SIMIB_HELLO = 2,	/* from the module: struct simib_hello */
	SIMIB_PORT = 3,		/* from the module: struct simib_port_state */
	SIMIB_GONE = 4,		/* from the module: the HCA is unregistered; no body */
	SIMIB_LINK = 16,	/* to the module: struct simib_link */
	SIMIB_COUNT = 17,	/* to the module: struct simib_count */
	SIMIB_TRAP = 18,	/* to the module: struct simib_trap */
	SIMIB_FATAL = 19,	/* to the module: the HCA reports IB_EVENT_DEVICE_FATAL; no body */
	SIMIB_REMOVE = 20,	/* to the module: the HCA is unplugged, its driver unbound; no body */
	SIMIB_ADD = 21,		/* to the module: struct simib_add, or no body */
};

#define SIMIB_GRH_BYTES 40
#define SIMIB_MAX_PAYLOAD 4096
#define SIMIB_MAX_FRAME \
	(sizeof(struct simib_header) + sizeof(struct simib_packet) + SIMIB_GRH_BYTES + \
	 SIMIB_MAX_PAYLOAD)

enum simib_packet_flags {
	SIMIB_PACKET_GRH = 1,		/* the global route header follows */
	SIMIB_PACKET_SOLICITED = 2,	/* solicited event bit of the BTH */
};

/*
 * One UD SEND-only packet: what the LRH, BTH and DETH say. Behind it come, with SIMIB_PACKET_GRH,
 * the 40 bytes of the GRH as on a link, then the payload: 256 bytes on QP 0 and 1, at most
 * SIMIB_MAX_PAYLOAD on others. CRCs are not carried: a damaged packet is one that never comes.
 */
struct simib_packet {
	__le32 source_qpn;
	__le32 destination_qpn;	/* 0: on VL15; 0xffffff: multicast */
	__le32 qkey;		/* 0 on QP 0 */
	__le16 slid;
	__le16 dlid;
	__le16 pkey;		/* with the membership bit; 0 on QP 0 */
	__u8 sl;
	__u8 flags;		/* enum simib_packet_flags */
};

/* An HCA exists: after open(), and after SIMIB_ADD. */
struct simib_hello {
	__le64 node_guid;
	__le64 port_guids[2];	/* 0: no such port */
	__u8 ports;
	__u8 reserved[7];	/* 0 */
};

/*
 * What a port's registers are, sent whenever one of these fields has changed and before the answer to
 * the Set that changed it. The numbers are those of PortInfo.
 */
struct simib_port_state {
	__le32 capability_mask;
	__le16 lid;
	__le16 sm_lid;
	__u8 lmc;
	__u8 state;		/* 1 DOWN, 2 INIT, 3 ARMED, 4 ACTIVE */
	__u8 physical_state;	/* 1 Sleep, 2 Polling, 3 Disabled, 5 LinkUp */
	__u8 retrain;		/* 1: a Set took the link down; train it where the state lets it */
};

/* The link of a port comes up (to INIT) or goes down. Without effect on a port that is Disabled. */
struct simib_link {
	__u8 up;
	__u8 width_active;	/* LinkWidthActive; of a link that comes up, as the other two */
	__u8 speed_active;	/* LinkSpeedActive */
	__u8 speed_ext_active;	/* LinkSpeedExtActive */
	__u8 mtu;		/* NeighborMTU that the link can carry at most, as PortInfo has it */
	__u8 reserved[3];	/* 0 */
};

/* The registers of the performance agent, in the order of struct simib_count's users. */
enum simib_counter {
	SIMIB_SYMBOL_ERROR,
	SIMIB_LINK_ERROR_RECOVERY,
	SIMIB_LINK_DOWNED,
	SIMIB_RCV_ERRORS,
	SIMIB_RCV_REMOTE_PHYSICAL_ERRORS,
	SIMIB_RCV_SWITCH_RELAY_ERRORS,
	SIMIB_XMIT_DISCARDS,
	SIMIB_XMIT_CONSTRAINT_ERRORS,
	SIMIB_RCV_CONSTRAINT_ERRORS,
	SIMIB_LOCAL_LINK_INTEGRITY,
	SIMIB_BUFFER_OVERRUN,
	SIMIB_VL15_DROPPED,
	SIMIB_XMIT_WAIT,
	SIMIB_XMIT_DATA,	/* in words of 4 bytes, as the next */
	SIMIB_RCV_DATA,
	SIMIB_XMIT_PACKETS,
	SIMIB_RCV_PACKETS,
	SIMIB_UNICAST_XMIT_PACKETS,
	SIMIB_UNICAST_RCV_PACKETS,
	SIMIB_MULTICAST_XMIT_PACKETS,
	SIMIB_MULTICAST_RCV_PACKETS,
	SIMIB_COUNTERS		/* how many there are */
};

/* A counter of a port counts so many more. */
struct simib_count {
	__le32 counter;		/* enum simib_counter */
	__le32 reserved;	/* 0 */
	__le64 increment;
};

/* An HCA that was removed is back, or, with a body, another one with other GUIDs is in its place. */
struct simib_add {
	__le64 node_guid;	/* not 0; the GUID of port p is that plus p */
};

/* The HCA reports a threshold of a port: trap 129, 130 or 131, repeated until it is repressed. */
struct simib_trap {
	__le16 number;
	__u8 reserved[6];	/* 0 */
};

#endif

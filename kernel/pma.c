// SPDX-License-Identifier: GPL-2.0
/* The performance management agent (IBA vol 1 16.1): PortCounters and PortCountersExtended. */
#include <rdma/ib_pma.h>

#include "simib.h"

/* A counter of PortCounters: where it is in the attribute, its size, and the bit that clears it. */
struct field {
	u8 offset, bits;	/* 4 bits: the higher half of the byte, 5: the lower half */
	u16 select;
	enum simib_counter counter;
};

#define HIGH_NIBBLE 4
#define LOW_NIBBLE 5

static const struct field fields[] = {
	{ 4, 16, 0x0001, SIMIB_SYMBOL_ERROR },
	{ 6, 8, 0x0002, SIMIB_LINK_ERROR_RECOVERY },
	{ 7, 8, 0x0004, SIMIB_LINK_DOWNED },
	{ 8, 16, 0x0008, SIMIB_RCV_ERRORS },
	{ 10, 16, 0x0010, SIMIB_RCV_REMOTE_PHYSICAL_ERRORS },
	{ 12, 16, 0x0020, SIMIB_RCV_SWITCH_RELAY_ERRORS },
	{ 14, 16, 0x0040, SIMIB_XMIT_DISCARDS },
	{ 16, 8, 0x0080, SIMIB_XMIT_CONSTRAINT_ERRORS },
	{ 17, 8, 0x0100, SIMIB_RCV_CONSTRAINT_ERRORS },
	{ 19, HIGH_NIBBLE, 0x0200, SIMIB_LOCAL_LINK_INTEGRITY },
	{ 19, LOW_NIBBLE, 0x0400, SIMIB_BUFFER_OVERRUN },
	{ 22, 16, 0x0800, SIMIB_VL15_DROPPED },
	{ 24, 32, 0x1000, SIMIB_XMIT_DATA },
	{ 28, 32, 0x2000, SIMIB_RCV_DATA },
	{ 32, 32, 0x4000, SIMIB_XMIT_PACKETS },
	{ 36, 32, 0x8000, SIMIB_RCV_PACKETS },
};

#define XMIT_WAIT_AT 40
#define XMIT_WAIT_SELECT 0x01	/* in CounterSelect2 */

/* PortCountersExtended, from offset 8 on, in the order of their bits in CounterSelect. */
static const enum simib_counter extended[] = {
	SIMIB_XMIT_DATA, SIMIB_RCV_DATA, SIMIB_XMIT_PACKETS, SIMIB_RCV_PACKETS,
	SIMIB_UNICAST_XMIT_PACKETS, SIMIB_UNICAST_RCV_PACKETS,
	SIMIB_MULTICAST_XMIT_PACKETS, SIMIB_MULTICAST_RCV_PACKETS,
};

/* Behind the MAD's header and 40 reserved bytes. */
static u8 *perf_data(struct ib_mad *mad)
{
	return (u8 *)mad + 64;
}

static void put_big_endian(u8 *at, int bytes, u64 value)
{
	while (bytes-- > 0) {
		at[bytes] = value;
		value >>= 8;
	}
}

/* Counters stay at their highest value. */
static u64 limited(u64 value, int bits)
{
	return min(value, (1ULL << bits) - 1);
}

static void get_counters(const struct simib_port *port, u8 *data)
{
	const struct field *field;
	u64 value;

	for (field = fields; field < fields + ARRAY_SIZE(fields); field++) {
		value = port->counters[field->counter];
		if (field->bits == HIGH_NIBBLE)
			data[field->offset] |= limited(value, 4) << 4;
		else if (field->bits == LOW_NIBBLE)
			data[field->offset] |= limited(value, 4);
		else
			put_big_endian(data + field->offset, field->bits / 8,
				       limited(value, field->bits));
	}
	put_big_endian(data + XMIT_WAIT_AT, 4, limited(port->counters[SIMIB_XMIT_WAIT], 32));
}

static void clear_counters(struct simib_port *port, u16 select, u8 select2)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(fields); i++)
		if (select & fields[i].select)
			port->counters[fields[i].counter] = 0;
	if (select2 & XMIT_WAIT_SELECT)
		port->counters[SIMIB_XMIT_WAIT] = 0;
}

static __be16 serve_counters(struct simib_port *port, u8 method, u8 *data)
{
	if (method == IB_MGMT_METHOD_SET)
		clear_counters(port, data[2] << 8 | data[3], data[18]);
	memset(data + 4, 0, 40);
	get_counters(port, data);
	return 0;
}

static __be16 serve_extended(struct simib_port *port, u8 method, u8 *data)
{
	u16 select = data[2] << 8 | data[3];
	int i;

	for (i = 0; i < ARRAY_SIZE(extended); i++) {
		if (method == IB_MGMT_METHOD_SET && select & 1 << i)
			port->counters[extended[i]] = 0;
		put_big_endian(data + 8 + 8 * i, 8, port->counters[extended[i]]);
	}
	return 0;
}

static __be16 serve_class_port_info(struct ib_mad *out)
{
	struct ib_class_port_info *info = (void *)perf_data(out);

	if (out->mad_hdr.method != IB_MGMT_METHOD_GET)
		return cpu_to_be16(IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
	memset(info, 0, sizeof(*info));
	info->base_version = IB_MGMT_BASE_VERSION;
	info->class_version = 1;
	/* Bits 9 and 12: PortCountersExtended, and PortXmitWait in PortCounters. */
	info->capability_mask = cpu_to_be16(IB_PMA_CLASS_CAP_EXT_WIDTH |
					    IB_PMA_CLASS_CAP_XMIT_WAIT);
	ib_set_cpi_resp_time(info, 18);
	return 0;
}

static __be16 serve(struct simib_port *port, struct ib_mad *out)
{
	u8 *data = perf_data(out);
	u8 method = out->mad_hdr.method;
	__be16 id = out->mad_hdr.attr_id;

	if (id == IB_MGMT_CLASSPORTINFO_ATTR_ID)
		return serve_class_port_info(out);
	if (id != IB_PMA_PORT_COUNTERS && id != IB_PMA_PORT_COUNTERS_EXT)
		return cpu_to_be16(IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB);
	if (data[1] != port->number && data[1] != 0xff)
		return cpu_to_be16(IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE);
	if (id == IB_PMA_PORT_COUNTERS)
		return serve_counters(port, method, data);
	return serve_extended(port, method, data);
}

/* False: not a request. */
bool simib_perf_mad(struct simib_port *port, const struct ib_mad *in, struct ib_mad *out)
{
	if (in->mad_hdr.method != IB_MGMT_METHOD_GET && in->mad_hdr.method != IB_MGMT_METHOD_SET)
		return false;
	*out = *in;
	if (in->mad_hdr.base_version != 1 || in->mad_hdr.class_version != 1)
		out->mad_hdr.status = cpu_to_be16(IB_MGMT_MAD_STATUS_BAD_VERSION);
	else
		out->mad_hdr.status = serve(port, out);
	out->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	return true;
}

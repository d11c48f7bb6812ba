// SPDX-License-Identifier: GPL-2.0
/* /dev/simib: frames out and in, see simib_wire.h. */
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "simib.h"

/* Packets that wait for a reader are at most so many; the rest is lost as on a full link. */
#define MAX_WAITING 16384

struct frame {
	struct list_head list;
	u16 length;
	u8 bytes[];
};

static struct {
	spinlock_t lock;
	bool open;
	struct list_head frames;
	u32 waiting;
	wait_queue_head_t wait;
} wire = {
	.lock = __SPIN_LOCK_UNLOCKED(wire.lock),
	.frames = LIST_HEAD_INIT(wire.frames),
	.wait = __WAIT_QUEUE_HEAD_INITIALIZER(wire.wait),
};

static struct frame *make_frame(u8 type, u16 hca, u8 port, u32 body)
{
	u32 length = sizeof(struct simib_header) + body;
	struct frame *frame = kmalloc(sizeof(*frame) + length, GFP_ATOMIC);
	struct simib_header *header;

	if (!frame)
		return NULL;
	frame->length = length;
	header = (struct simib_header *)frame->bytes;
	*header = (struct simib_header){
		.version = SIMIB_WIRE_VERSION,
		.type = type,
		.port = port,
		.hca = cpu_to_le16(hca),
		.length = cpu_to_le16(length),
	};
	return frame;
}

static void queue_frame(struct frame *frame, bool may_be_lost)
{
	unsigned long irq;

	if (!frame)
		return;
	spin_lock_irqsave(&wire.lock, irq);
	if (!wire.open || (may_be_lost && wire.waiting >= MAX_WAITING)) {
		spin_unlock_irqrestore(&wire.lock, irq);
		kfree(frame);
		return;
	}
	list_add_tail(&frame->list, &wire.frames);
	wire.waiting++;
	spin_unlock_irqrestore(&wire.lock, irq);
	wake_up_interruptible(&wire.wait);
}

void simib_wire_packet(const struct simib_port *port, const struct simib_packet *packet,
		       const u8 *grh, const u8 *payload, u32 length)
{
	u32 grh_bytes = packet->flags & SIMIB_PACKET_GRH ? SIMIB_GRH_BYTES : 0;
	struct frame *frame = make_frame(SIMIB_PACKET, port->hca->index, port->number,
					 sizeof(*packet) + grh_bytes + length);
	u8 *at;

	if (!frame)
		return;
	at = frame->bytes + sizeof(struct simib_header);
	memcpy(at, packet, sizeof(*packet));
	memcpy(at + sizeof(*packet), grh, grh_bytes);
	memcpy(at + sizeof(*packet) + grh_bytes, payload, length);
	queue_frame(frame, true);
}

void simib_wire_port(const struct simib_port *port, const struct simib_port_state *state)
{
	struct frame *frame = make_frame(SIMIB_PORT, port->hca->index, port->number,
					 sizeof(*state));

	if (frame)
		memcpy(frame->bytes + sizeof(struct simib_header), state, sizeof(*state));
	queue_frame(frame, false);
}

static void tell_everything(struct simib_port *port)
{
	unsigned long irq;

	spin_lock_irqsave(&port->hca->lock, irq);
	memset(&port->reported, 0xff, sizeof(port->reported));
	simib_tell_port(port, false);
	spin_unlock_irqrestore(&port->hca->lock, irq);
}

/* Says that the HCA is there, and all about its ports. */
void simib_wire_hello(struct simib_hca *hca)
{
	struct simib_hello body = {
		.node_guid = cpu_to_le64(be64_to_cpu(hca->ib.node_guid)),
		.ports = hca->ports,
	};
	struct frame *frame = make_frame(SIMIB_HELLO, hca->index, 0, sizeof(body));
	u32 i;

	for (i = 0; i < hca->ports; i++)
		body.port_guids[i] = cpu_to_le64(be64_to_cpu(hca->port[i].guids[0]));
	if (frame)
		memcpy(frame->bytes + sizeof(struct simib_header), &body, sizeof(body));
	queue_frame(frame, false);
	for (i = 0; i < hca->ports; i++)
		tell_everything(&hca->port[i]);
}

void simib_wire_gone(u16 index)
{
	queue_frame(make_frame(SIMIB_GONE, index, 0, 0), false);
}

/* ---- frames in */

static int take_packet(struct simib_port *port, const u8 *body, u32 length,
		       struct simib_events *events)
{
	const struct simib_packet *packet = (const void *)body;
	const u8 *grh = body + sizeof(*packet);
	u32 headers = sizeof(*packet);

	if (length >= headers && packet->flags & SIMIB_PACKET_GRH)
		headers += SIMIB_GRH_BYTES;
	if (length < headers || length - headers > SIMIB_MAX_PAYLOAD)
		return -EINVAL;
	simib_receive(port, packet, grh, body + headers, length - headers, events);
	return 0;
}

static int take_count(struct simib_port *port, const struct simib_count *count)
{
	u32 counter = le32_to_cpu(count->counter);

	if (counter >= SIMIB_COUNTERS)
		return -EINVAL;
	port->counters[counter] += le64_to_cpu(count->increment);
	return 0;
}

static int take_trap(struct simib_port *port, const struct simib_trap *trap)
{
	u16 number = le16_to_cpu(trap->number);

	if (number < 129 || number > 131)
		return -EINVAL;
	simib_raise(port, SIMIB_TRAP_LINK_INTEGRITY + number - 129, NULL);
	return 0;
}

static int take_port_frame(struct simib_port *port, u8 type, const u8 *body, u32 length,
			   struct simib_events *events)
{
	if (type == SIMIB_PACKET)
		return take_packet(port, body, length, events);
	if (type == SIMIB_LINK && length == sizeof(struct simib_link)) {
		simib_link(port, (const void *)body, events);
		return 0;
	}
	if (type == SIMIB_COUNT && length == sizeof(struct simib_count))
		return take_count(port, (const void *)body);
	if (type == SIMIB_TRAP && length == sizeof(struct simib_trap))
		return take_trap(port, (const void *)body);
	return -EINVAL;
}

static int take_hca_frame(struct simib_hca *hca, const struct simib_header *header,
			  const u8 *body, u32 length)
{
	struct simib_events events = {};
	unsigned long irq;
	int error;

	if (header->type == SIMIB_FATAL && !length) {
		events.port = &hca->port[0];
		__set_bit(IB_EVENT_DEVICE_FATAL, &events.types);
		simib_dispatch(&events);
		return 0;
	}
	if (header->port < 1 || header->port > hca->ports)
		return -ENODEV;
	events.port = &hca->port[header->port - 1];
	spin_lock_irqsave(&hca->lock, irq);
	error = take_port_frame(events.port, header->type, body, length, &events);
	spin_unlock_irqrestore(&hca->lock, irq);
	simib_dispatch(&events);
	return error;
}

static int take_add(u16 index, const struct simib_add *add, size_t length)
{
	if (!length)
		return simib_add(index, 0);
	if (length != sizeof(*add) || !add->node_guid)
		return -EINVAL;
	return simib_add(index, le64_to_cpu(add->node_guid));
}

static int take_frame(const u8 *bytes, size_t length)
{
	const struct simib_header *header = (const void *)bytes;
	u16 index = le16_to_cpu(header->hca);
	struct simib_hca *hca;
	int error;

	if (header->version != SIMIB_WIRE_VERSION)
		return -EPROTO;
	if (le16_to_cpu(header->length) != length)
		return -EINVAL;
	if (header->type == SIMIB_ADD)
		return take_add(index, (const void *)(header + 1), length - sizeof(*header));
	if (header->type == SIMIB_REMOVE) {
		simib_remove(index);
		return 0;
	}
	hca = simib_get(index);
	if (!hca)
		return -ENODEV;
	error = take_hca_frame(hca, header, bytes + sizeof(*header), length - sizeof(*header));
	simib_put();
	return error;
}

/* ---- the device */

static int wire_open(struct inode *inode, struct file *file)
{
	bool busy;

	spin_lock_irq(&wire.lock);
	busy = wire.open;
	wire.open = true;
	spin_unlock_irq(&wire.lock);
	if (busy)
		return -EBUSY;
	simib_for_each(simib_wire_hello);
	return stream_open(inode, file);
}

static void unplug(struct simib_hca *hca)
{
	struct simib_link down = {};
	u32 i;

	for (i = 0; i < hca->ports; i++) {
		struct simib_events events = { .port = &hca->port[i] };

		spin_lock_irq(&hca->lock);
		simib_link(events.port, &down, &events);
		spin_unlock_irq(&hca->lock);
		simib_dispatch(&events);
	}
}

static int wire_release(struct inode *inode, struct file *file)
{
	struct frame *frame, *next;
	LIST_HEAD(rest);

	simib_for_each(unplug);
	spin_lock_irq(&wire.lock);
	wire.open = false;
	wire.waiting = 0;
	list_splice_init(&wire.frames, &rest);
	spin_unlock_irq(&wire.lock);
	list_for_each_entry_safe(frame, next, &rest, list)
		kfree(frame);
	return 0;
}

/* The first frame, -EAGAIN: none, or -EMSGSIZE: it is longer than that, and stays. */
static struct frame *first_frame(size_t size)
{
	struct frame *frame;

	spin_lock_irq(&wire.lock);
	frame = list_first_entry_or_null(&wire.frames, struct frame, list);
	if (!frame) {
		frame = ERR_PTR(-EAGAIN);
	} else if (frame->length > size) {
		frame = ERR_PTR(-EMSGSIZE);
	} else {
		list_del(&frame->list);
		wire.waiting--;
	}
	spin_unlock_irq(&wire.lock);
	return frame;
}

static ssize_t wire_read(struct file *file, char __user *to, size_t size, loff_t *offset)
{
	struct frame *frame;
	ssize_t length;

	while ((frame = first_frame(size)) == ERR_PTR(-EAGAIN)) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		if (wait_event_interruptible(wire.wait, !list_empty(&wire.frames)))
			return -ERESTARTSYS;
	}
	if (IS_ERR(frame))
		return PTR_ERR(frame);
	length = copy_to_user(to, frame->bytes, frame->length) ? -EFAULT : frame->length;
	kfree(frame);
	return length;
}

static ssize_t wire_write(struct file *file, const char __user *from, size_t size,
			  loff_t *offset)
{
	u8 *bytes;
	int error;

	if (size < sizeof(struct simib_header) || size > SIMIB_MAX_FRAME)
		return -EINVAL;
	bytes = memdup_user(from, size);
	if (IS_ERR(bytes))
		return PTR_ERR(bytes);
	error = take_frame(bytes, size);
	kfree(bytes);
	return error ?: size;
}

static __poll_t wire_poll(struct file *file, poll_table *table)
{
	poll_wait(file, &wire.wait, table);
	return EPOLLOUT | EPOLLWRNORM | (list_empty(&wire.frames) ? 0 : EPOLLIN | EPOLLRDNORM);
}

static const struct file_operations wire_operations = {
	.owner = THIS_MODULE,
	.open = wire_open,
	.release = wire_release,
	.read = wire_read,
	.write = wire_write,
	.poll = wire_poll,
	.llseek = no_llseek,
};

static struct miscdevice wire_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "simib",
	.fops = &wire_operations,
	.mode = 0600,
};

int simib_wire_init(void)
{
	return misc_register(&wire_device);
}

void simib_wire_exit(void)
{
	misc_deregister(&wire_device);
}

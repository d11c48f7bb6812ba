// SPDX-License-Identifier: GPL-2.0
/* The module, its HCAs and their registration. */
#include <linux/module.h>
#include <linux/rwsem.h>

#include "simib.h"

static unsigned int hcas = 3;
module_param(hcas, uint, 0444);
MODULE_PARM_DESC(hcas, "virtual HCAs");

static unsigned int ports = 1;
module_param(ports, uint, 0444);
MODULE_PARM_DESC(ports, "ports of each HCA (1 or 2)");

/* Kernels that share a fabric have different ones: a frame names an HCA by its index alone. */
static unsigned int first;
module_param(first, uint, 0444);
MODULE_PARM_DESC(first, "index of the first HCA");

/* Locally administered, so that it is nobody's. */
static unsigned long guid_base = 0x0253490000000000UL;
module_param(guid_base, ulong, 0444);
MODULE_PARM_DESC(guid_base, "node GUID of HCA 0; HCA i has 16 * i more, port p of it p more");

/* The place of an HCA. Only the worker registers and unregisters; all others ask it to. */
struct slot {
	struct simib_hca *hca;	/* guarded by table_lock */
	bool wanted;
	u64 node_guid;		/* of the next HCA that is registered here */
	struct work_struct work;
	struct mutex worker;	/* one change of this place at a time */
};

/* What the HCAs hang from in sysfs: IPoIB's ethtool operations, which udev calls, want a parent. */
static struct device *parent;

static DECLARE_RWSEM(table_lock);
static struct slot slots[SIMIB_MAX_HCAS];
static struct workqueue_struct *workers;

static u16 index_of(const struct slot *slot)
{
	return first + (slot - slots);
}

/* NULL: no such HCA. */
static struct slot *slot_of(u16 index)
{
	return index >= first && index - first < hcas ? &slots[index - first] : NULL;
}

void simib_dispatch(const struct simib_events *events)
{
	struct ib_event event = {
		.device = &events->port->hca->ib,
		.element.port_num = events->port->number,
	};
	unsigned int type;

	for_each_set_bit(type, &events->types, BITS_PER_LONG) {
		event.event = type;
		ib_dispatch_event(&event);
	}
}

static struct simib_hca *make_hca(const struct slot *slot)
{
	struct simib_hca *hca = ib_alloc_device(simib_hca, ib);
	u64 guid = READ_ONCE(slot->node_guid);
	u16 index = index_of(slot);
	u32 i;

	if (!hca)
		return NULL;
	spin_lock_init(&hca->lock);
	xa_init_flags(&hca->qps, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	INIT_LIST_HEAD(&hca->attachments);
	hca->index = index;
	hca->ports = ports;
	hca->ib.node_type = RDMA_NODE_IB_CA;
	hca->ib.phys_port_cnt = ports;
	hca->ib.num_comp_vectors = num_possible_cpus();
	hca->ib.node_guid = cpu_to_be64(guid);
	snprintf(hca->ib.node_desc, sizeof(hca->ib.node_desc), "simib%u", index);
	for (i = 0; i < ports; i++)
		simib_port_init(&hca->port[i], hca, i + 1, guid + i + 1);
	ib_set_device_ops(&hca->ib, &simib_verbs_ops);
	return hca;
}

static void free_hca(struct simib_hca *hca)
{
	u32 i;

	for (i = 0; i < hca->ports; i++)
		del_timer_sync(&hca->port[i].trap_timer);
	WARN_ON(!list_empty(&hca->attachments) || !xa_empty(&hca->qps));
	xa_destroy(&hca->qps);
	ib_dealloc_device(&hca->ib);
}

static void put_in_place(struct slot *slot, struct simib_hca *hca)
{
	down_write(&table_lock);
	slot->hca = hca;
	up_write(&table_lock);
}

static int register_hca(struct slot *slot)
{
	struct simib_hca *hca = make_hca(slot);
	char name[IB_DEVICE_NAME_MAX];
	int error;

	if (!hca)
		return -ENOMEM;
	snprintf(name, sizeof(name), "simib%u", index_of(slot));
	hca->ib.dev.parent = parent;
	error = ib_register_device(&hca->ib, name, NULL);
	if (error) {
		pr_err("simib: %s cannot be registered: %d\n", name, error);
		free_hca(hca);
		return error;
	}
	put_in_place(slot, hca);
	simib_wire_hello(hca);
	return 0;
}

/* Out of the table first: nothing comes in from the wire while it is unregistered. */
static void unregister_hca(struct slot *slot)
{
	struct simib_hca *hca = slot->hca;

	put_in_place(slot, NULL);
	simib_wire_gone(hca->index);
	ib_unregister_device(&hca->ib);
	free_hca(hca);
}

static int reconcile(struct slot *slot)
{
	int error = 0;

	mutex_lock(&slot->worker);
	if (READ_ONCE(slot->wanted) && !slot->hca)
		error = register_hca(slot);
	else if (!READ_ONCE(slot->wanted) && slot->hca)
		unregister_hca(slot);
	mutex_unlock(&slot->worker);
	return error;
}

static void work(struct work_struct *work)
{
	reconcile(container_of(work, struct slot, work));
}

static void want(struct slot *slot, bool wanted)
{
	WRITE_ONCE(slot->wanted, wanted);
	queue_work(workers, &slot->work);
}

int simib_add(u16 index, u64 node_guid)
{
	struct slot *slot = slot_of(index);

	if (!slot)
		return -ENODEV;
	if (node_guid)
		WRITE_ONCE(slot->node_guid, node_guid);
	want(slot, true);
	return 0;
}

void simib_remove(u16 index)
{
	struct slot *slot = slot_of(index);

	if (slot)
		want(slot, false);
}

/* With the HCA kept in place until simib_put(). */
struct simib_hca *simib_get(u16 index)
{
	struct slot *slot = slot_of(index);

	down_read(&table_lock);
	if (slot && slot->hca)
		return slot->hca;
	up_read(&table_lock);
	return NULL;
}

void simib_put(void)
{
	up_read(&table_lock);
}

void simib_for_each(void (*visit)(struct simib_hca *hca))
{
	unsigned int i;

	down_read(&table_lock);
	for (i = 0; i < hcas; i++)
		if (slots[i].hca)
			visit(slots[i].hca);
	up_read(&table_lock);
}

static void unregister_all(void)
{
	unsigned int i;

	for (i = 0; i < hcas; i++) {
		WRITE_ONCE(slots[i].wanted, false);
		reconcile(&slots[i]);
	}
}

static int register_all(void)
{
	unsigned int i;
	int error = 0;

	for (i = 0; i < hcas && !error; i++) {
		slots[i].node_guid = guid_base + 16 * index_of(&slots[i]);
		INIT_WORK(&slots[i].work, work);
		mutex_init(&slots[i].worker);
	}
	for (i = 0; i < hcas && !error; i++) {
		slots[i].wanted = true;
		error = reconcile(&slots[i]);
	}
	if (error)
		unregister_all();
	return error;
}

static int __init simib_init(void)
{
	int error;

	if (hcas > SIMIB_MAX_HCAS || first > U16_MAX - SIMIB_MAX_HCAS ||
	    ports < 1 || ports > SIMIB_MAX_PORTS)
		return -EINVAL;
	parent = root_device_register("simib");
	if (IS_ERR(parent))
		return PTR_ERR(parent);
	error = -ENOMEM;
	workers = alloc_workqueue("simib", WQ_UNBOUND, 0);
	if (!workers)
		goto unregister_parent;
	error = register_all();
	if (error)
		goto destroy_workers;
	error = simib_wire_init();
	if (error)
		goto unregister;
	return 0;

unregister:
	unregister_all();
destroy_workers:
	destroy_workqueue(workers);
unregister_parent:
	root_device_unregister(parent);
	return error;
}

/* Nobody has the wire open: an open file holds the module. */
static void __exit simib_exit(void)
{
	simib_wire_exit();
	destroy_workqueue(workers);
	unregister_all();
	root_device_unregister(parent);
}

module_init(simib_init);
module_exit(simib_exit);
MODULE_DESCRIPTION("Virtual InfiniBand HCAs whose wire is a character device");
MODULE_LICENSE("GPL");

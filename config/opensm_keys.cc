// SPDX-License-Identifier: Apache-2.0
#include "config/opensm_keys.h"

#include <algorithm>
#include <iterator>

namespace fabricd::config {
namespace {

using enum OpensmKind;

constexpr char kJournal[] = "fabricd logs to the journal, or to stderr";
constexpr char kLinks[] = "enabled speeds and widths of links are left as the devices have them";
constexpr char kNoQos[] = "fabricd sets no QoS: all traffic has the lanes that the routes need";
constexpr char kNoCc[] = "fabricd leaves congestion control as the devices have it";
constexpr char kNoPerf[] = "fabricd reads counters by the keys of `telemetry`";
constexpr char kRoutes[] = "fabricd's engines have no such input";
constexpr char kSaState[] = "what clients register is kept in the state directory at once";
constexpr char kWindow[] = "the window adapts to the answers; smp.window bounds it";
constexpr char kConsole[] = "fabricctl does what the console did";
constexpr char kThreads[] = "fabricd has its own threads";
constexpr char kLids[] = "a LID stays with its port";

const OpensmKey kKeys[] = {
    {"guid", kSpecial, "fabric"},
    {"m_key", kSecret, "sm.m_key"},
    {"m_key_lease_period", kSeconds, "sm.m_key_lease_period"},
    {"m_key_protection_level", kNumber, "sm.m_key_protect"},
    {"m_key_lookup", kDefault, "TRUE", "keys of single ports are looked up in sm.guid2mkey_file"},
    {"sm_key", kSecret, "sm.sm_key"},
    {"sa_key", kSecret, "sm.sa_key"},
    {"subnet_prefix", kHex, "sm.subnet_prefix"},
    {"lmc", kNumber, "lid.lmc"},
    {"lmc_esp0", kFlag, "lid.lmc_enhanced_port0"},
    {"sm_sl", kDefault, "0", "management traffic has service level 0"},
    {"packet_life_time", kNumber, "link.packet_life_time"},
    {"vl_stall_count", kNumber, "link.vl_stall"},
    {"leaf_vl_stall_count", kSpecial, "link.vl_stall"},
    {"head_of_queue_lifetime", kNumber, "link.hoq_life"},
    {"leaf_head_of_queue_lifetime", kNumber, "link.leaf_hoq_life"},
    {"max_op_vls", kNumber, "link.max_operational_vls"},
    {"force_link_speed", kDefault, "15", kLinks},
    {"force_link_speed_ext", kDefault, "31", kLinks},
    {"force_link_width", kDefault, "255", kLinks},
    {"fdr10", kDefault, "1", kLinks},
    {"subnet_timeout", kNumber, "link.subnet_timeout"},
    {"local_phy_errors_threshold", kNumber, "link.local_phy_errors"},
    {"overrun_errors_threshold", kNumber, "link.overrun_errors"},
    {"use_mfttop", kDefault, "TRUE", "the multicast tables' top is used where switches have it"},
    {"partition_config_file", kSpecial, "partitions.file"},
    {"no_partition_enforcement", kSpecial, "partitions.enforce"},
    {"part_enforce", kSpecial, "partitions.enforce"},
    {"allow_both_pkeys", kDefault, "FALSE", "membership is as the partition's lines say"},
    {"keep_pkey_indexes", kDefault, "TRUE", "P_Keys keep their places in the tables"},
    {"sm_assigned_guid", kDefault, "0", "fabricd makes no alias GUIDs of its own"},
    {"sweep_interval", kSeconds, "sweep.light_interval"},
    {"reassign_lids", kDefault, "FALSE", kLids},
    {"force_heavy_sweep", kSpecial, "sweep.heavy_interval"},
    {"sweep_on_trap", kFlag, "sweep.on_trap"},
    {"port_profile_switch_nodes", kDefault, "FALSE", kRoutes},
    {"port_prof_ignore_file", kDefault, "(null)", kRoutes},
    {"hop_weights_file", kDefault, "(null)", kRoutes},
    {"port_search_ordering_file", kDefault, "(null)", kRoutes},
    {"routing_engine", kSpecial, "routing.chain"},
    {"avoid_throttled_links", kDefault, "FALSE", kRoutes},
    {"connect_roots", kDefault, "FALSE", "every switch reaches every other"},
    {"use_ucast_cache", kDefault, "FALSE", "a fault moves no more than lost its way, always"},
    {"lid_matrix_dump_file", kDefault, "(null)", kRoutes},
    {"lfts_file", kDefault, "(null)", kRoutes},
    {"root_guid_file", kPath, "routing.roots_file"},
    {"cn_guid_file", kDefault, "(null)", kRoutes},
    {"io_guid_file", kDefault, "(null)", kRoutes},
    {"quasi_ftree_indexing", kDefault, "FALSE", kRoutes},
    {"max_reverse_hops", kDefault, "0", kRoutes},
    {"ids_guid_file", kDefault, "(null)", kRoutes},
    {"guid_routing_order_file", kDefault, "(null)", kRoutes},
    {"do_mesh_analysis", kDefault, "FALSE", kRoutes},
    {"lash_start_vl", kDefault, "0", kRoutes},
    {"nue_max_num_vls", kDefault, "1", "see routing.lanes_max"},
    {"nue_include_switches", kDefault, "FALSE", kRoutes},
    {"port_shifting", kDefault, "FALSE", "see routing.balance"},
    {"scatter_ports", kDefault, "0", "see routing.balance"},
    {"guid_routing_order_no_scatter", kDefault, "FALSE", kRoutes},
    {"sa_db_file", kPath, "sm.sa_db_file"},
    {"sa_db_dump", kDefault, "FALSE", kSaState},
    {"torus_config", kDefault, "/etc/opensm/torus-2QoS.conf", kRoutes},
    {"sm_priority", kNumber, "sm.priority"},
    {"ignore_other_sm", kDefault, "FALSE", "fabricd never fights another SM"},
    {"sminfo_polling_timeout", kMillis, "sm.polling_timeout"},
    {"polling_retry_number", kNumber, "sm.polling_retries"},
    {"honor_guid2lid_file", kDefault, "FALSE", kLids},
    {"max_wire_smps", kDefault, "4", kWindow},
    {"max_wire_smps2", kDefault, "4", kWindow},
    {"max_smps_timeout", kDefault, "600000", kWindow},
    {"transaction_timeout", kMillis, "smp.timeout"},
    {"transaction_retries", kNumber, "smp.retries"},
    {"long_transaction_timeout", kDefault, "500", "smp.timeout is for all requests"},
    {"max_msg_fifo_timeout", kDefault, "10000", "clients of the SA are told BUSY instead"},
    {"single_thread", kDefault, "FALSE", kThreads},
    {"daemon", kDefault, "FALSE", "fabricd stays in the foreground; systemd keeps it"},
    {"sm_inactive", kDefault, "FALSE", "an SM that is not wanted is not started"},
    {"babbling_port_policy", kSpecial, "conditions.noisy_traps"},
    {"drop_event_subscriptions", kDefault, "FALSE", "subscriptions of vanished ports end"},
    {"ipoib_mcgroup_creation_validation", kDefault, "TRUE", "groups are always validated"},
    {"mcgroup_join_validation", kDefault, "TRUE", "joins are always validated"},
    {"use_original_extended_sa_rates_only", kDefault, "FALSE", "all rates are told"},
    {"use_optimized_slvl", kDefault, "FALSE", "SL to VL tables are written port by port"},
    {"fsync_high_avail_files", kDefault, "TRUE", "LIDs are on disk before they are used"},
    {"perfmgr", kDefault, "FALSE", kNoPerf},
    {"perfmgr_redir", kDefault, "TRUE", kNoPerf},
    {"perfmgr_sweep_time_s", kDefault, "180", kNoPerf},
    {"perfmgr_max_outstanding_queries", kDefault, "500", kNoPerf},
    {"perfmgr_ignore_cas", kDefault, "FALSE", kNoPerf},
    {"perfmgr_rm_nodes", kDefault, "TRUE", kNoPerf},
    {"perfmgr_log_errors", kDefault, "TRUE", kNoPerf},
    {"perfmgr_query_cpi", kDefault, "TRUE", kNoPerf},
    {"perfmgr_xmit_wait_log", kDefault, "FALSE", kNoPerf},
    {"perfmgr_xmit_wait_threshold", kDefault, "65535", kNoPerf},
    {"event_db_dump_file", kDefault, "(null)", kNoPerf},
    {"event_plugin_name", kDefault, "(null)", "events come from the API: fabricctl events -w"},
    {"event_plugin_options", kDefault, "(null)", "events come from the API: fabricctl events -w"},
    {"node_name_map_name", kPath, "topology.node_name_map"},
    {"log_flags", kSpecial, "log.level"},
    {"force_log_flush", kDefault, "FALSE", kJournal},
    {"log_file", kDefault, "/var/log/opensm.log", kJournal},
    {"log_max_size", kDefault, "0", kJournal},
    {"accum_log_file", kDefault, "TRUE", kJournal},
    {"per_module_logging_file", kDefault, "/etc/opensm/per-module-logging.conf", kJournal},
    {"log_prefix", kDefault, "(null)", kJournal},
    {"dump_files_dir", kDefault, "/var/log/", "dumps are asked for: fabricctl dump, --dump-dir"},
    {"enable_quirks", kDefault, "FALSE", "what odd devices need is found out from them"},
    {"no_clients_rereg", kDefault, "FALSE", "clients are asked to register again when they must"},
    {"disable_multicast", kDefault, "FALSE", "fabricd always serves multicast"},
    {"exit_on_fatal", kDefault, "TRUE", "faults of the fabric are reported and worked around"},
    {"console", kDefault, "off", kConsole},
    {"console_port", kDefault, "10000", kConsole},
    {"qos", kDefault, "FALSE", kNoQos},
    {"qos_policy_file", kDefault, "/etc/opensm/qos-policy.conf", kNoQos},
    {"suppress_sl2vl_mad_status_errors", kDefault, "FALSE", kNoQos},
    {"congestion_control", kDefault, "FALSE", kNoCc},
    {"cc_key", kDefault, "0", kNoCc},
    {"cc_max_outstanding_mads", kDefault, "500", kNoCc},
    {"prefix_routes_file", kSpecial, "sm.prefix_routes_file"},
    {"consolidate_ipv6_snm_req", kDefault, "FALSE", "each group has a tree of its own"},
};

// Keys that come in families, none of which fabricd has.
struct Family {
  std::string_view prefix;
  OpensmKey key;
};
const Family kFamilies[] = {
    {"qos_", {"qos_", kDefault, "", kNoQos}},
    {"cc_sw_cong_setting_", {"cc_sw_cong_setting_", kDefault, "", kNoCc}},
    {"cc_ca_cong_setting_", {"cc_ca_cong_setting_", kDefault, "", kNoCc}},
    {"cc_cct", {"cc_cct", kDefault, "", kNoCc}},
};

}  // namespace

const OpensmKey* FindOpensmKey(std::string_view key) {
  const auto* known = std::find_if(std::begin(kKeys), std::end(kKeys),
                                   [&](const OpensmKey& each) { return each.key == key; });
  if (known != std::end(kKeys)) return known;
  for (const Family& family : kFamilies)
    if (key.starts_with(family.prefix)) return &family.key;
  return nullptr;
}

}  // namespace fabricd::config

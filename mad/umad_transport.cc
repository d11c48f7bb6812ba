// SPDX-License-Identifier: Apache-2.0
#include "mad/umad_transport.h"

#include <endian.h>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <system_error>

#include "common/check.h"
#include "common/status.h"
#include "mad/read_only_transport.h"
#include "mad/transactions.h"
#include "mad/wire/mad_header.h"

namespace fabricd::mad {
namespace {

constexpr int kMadHeaderBytes = 24;
constexpr size_t kMethodAt = 3;
constexpr int kFirstGmpBytes = 4096;
constexpr size_t kMaxBurst = 128;
constexpr int kBusyInFlight = 16;
constexpr int kTelemetryRoomOfIbsim = 128;  // And as many SMPs of the core.
constexpr int kMaxInFlight = 128;           // More answers than these are not waited for.
// So long that a burst comes together, far shorter than what so many MADs take to be answered.
constexpr std::chrono::nanoseconds kPausePerMad{1500};
constexpr Agent kTelemetryAgents[] = {Agent::kPerf, Agent::kVendor};
constexpr char kNoSubnetManagement[] =
    "; either another subnet manager (opensm, or a second fabricd) runs on this port, or the "
    "kernel offers no subnet management there: virtual functions have none, and Linux 6.11 wrongly "
    "denies it on some mlx5 devices (linux-rdma/opensm issue 37): update the kernel";

std::string ErrorText(int error) { return std::generic_category().message(error); }

struct AgentRule {
  Agent agent;
  wire::ManagementClass management_class;
  int version = 1;
  uint8_t rmpp_version = 0;
  std::initializer_list<wire::Method> unsolicited;
};

// What an SM and an SA are asked without having asked (IBA vol 1 §14.2.4, §15.2.2). No more: the
// kernel gives each method of a class to one agent, and srp_daemon wants the SA class's Reports.
const AgentRule kRules[] = {
    {.agent = Agent::kSmpDirected,
     .management_class = wire::ManagementClass::kSubnDirectedRoute,
     .unsolicited = {wire::Method::kGet, wire::Method::kSet}},
    {.agent = Agent::kSmpLid,
     .management_class = wire::ManagementClass::kSubnLidRouted,
     .unsolicited = {wire::Method::kGet, wire::Method::kSet, wire::Method::kTrap,
                     wire::Method::kTrapRepress}},
    {.agent = Agent::kSubnAdm,
     .management_class = wire::ManagementClass::kSubnAdm,
     .version = 2,
     .rmpp_version = 1,
     .unsolicited = {wire::Method::kGet, wire::Method::kSet, wire::Method::kGetTable,
                     wire::Method::kGetTraceTable, wire::Method::kGetMulti, wire::Method::kDelete}},
    {.agent = Agent::kPerf, .management_class = wire::ManagementClass::kPerf, .unsolicited = {}},
    {.agent = Agent::kVendor,
     .management_class = wire::ManagementClass::kVendor,
     .unsolicited = {}},
};

const AgentRule& RuleOf(Agent agent) { return kRules[static_cast<size_t>(agent)]; }

// By class, not by agent id: each handle counts its own.
std::optional<Agent> AgentOfClass(uint8_t management_class) {
  for (const AgentRule& rule : kRules) {
    if (static_cast<uint8_t>(rule.management_class) == management_class) return rule.agent;
  }
  return std::nullopt;
}

bool IsTelemetryAgent(Agent agent) { return agent == Agent::kPerf || agent == Agent::kVendor; }

uint32_t Milliseconds(Duration timeout) {
  using std::chrono::milliseconds;
  return static_cast<uint32_t>(std::chrono::ceil<milliseconds>(timeout).count());
}

absl::Status SendStatus(int error, const OutgoingMad& mad) {
  const std::string facts = fmt::format("sending a MAD of {} bytes to LID {}: {}",
                                        mad.payload.size(), mad.to.lid, ErrorText(error));
  switch (error) {
    case EAGAIN:
    case ENOMEM:
    case EINTR:
    case EBUSY: return absl::UnavailableError(facts);
    case EINVAL: return absl::InvalidArgumentError(facts);
    case ENODEV:
    case EIO: return absl::FailedPreconditionError(facts + ": the device is gone");
    default: return absl::InternalError(facts);
  }
}

std::optional<LocalPortEvent::Kind> KindOf(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_PORT_ACTIVE: return LocalPortEvent::Kind::kPortActive;
    case IBV_EVENT_PORT_ERR: return LocalPortEvent::Kind::kPortDown;
    case IBV_EVENT_LID_CHANGE: return LocalPortEvent::Kind::kLidChange;
    case IBV_EVENT_PKEY_CHANGE: return LocalPortEvent::Kind::kPKeyChange;
    case IBV_EVENT_SM_CHANGE: return LocalPortEvent::Kind::kSmChange;
    case IBV_EVENT_CLIENT_REREGISTER: return LocalPortEvent::Kind::kClientReregister;
    case IBV_EVENT_DEVICE_FATAL: return LocalPortEvent::Kind::kDeviceRemoved;
    default: return std::nullopt;
  }
}

void SetGlobalRoute(const GlobalRoute& route, ib_mad_addr_t& address) {
  const uint64_t gid[] = {htobe64(route.gid.prefix), htobe64(route.gid.low)};
  static_assert(sizeof(gid) == sizeof(address.gid));
  address.grh_present = 1;
  address.gid_index = route.gid_index;
  address.hop_limit = route.hop_limit;
  address.traffic_class = route.traffic_class;
  address.flow_label = htobe32(route.flow_label);
  std::memcpy(address.gid, gid, sizeof(gid));
}

std::optional<GlobalRoute> GlobalRouteOf(const ib_mad_addr_t& address) {
  if (address.grh_present == 0) return std::nullopt;
  uint64_t gid[2];
  std::memcpy(gid, address.gid, sizeof(gid));
  return GlobalRoute{{be64toh(gid[0]), be64toh(gid[1])},
                     address.gid_index,
                     address.hop_limit,
                     address.traffic_class,
                     be32toh(address.flow_label)};
}

struct CloseContext {
  void operator()(ibv_context* context) const { ibv_close_device(context); }
};
using ContextPtr = std::unique_ptr<ibv_context, CloseContext>;

// The verbs context of a device, of which events are read without waiting. Null: it has none.
ContextPtr OpenContext(const std::string& device) {
  int count = 0;
  ibv_device** const devices = ibv_get_device_list(&count);
  if (devices == nullptr) return nullptr;
  ContextPtr context;
  for (int index = 0; index < count && context == nullptr; ++index)
    if (device == ibv_get_device_name(devices[index]))
      context.reset(ibv_open_device(devices[index]));
  ibv_free_device_list(devices);
  if (context == nullptr) return nullptr;
  const int flags = fcntl(context->async_fd, F_GETFL);
  fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK);
  return context;
}

}  // namespace

absl::StatusOr<std::unique_ptr<UmadTransport>> UmadTransport::Open(const UmadChoice& choice,
                                                                   SmMode mode) {
  absl::StatusOr<UmadPort> port = FindPort(choice);
  if (!port.ok()) return port.status();
  return std::unique_ptr<UmadTransport>(
      new UmadTransport(std::move(port->local), port->on_ibsim, mode));
}

UmadTransport::UmadTransport(LocalPort local, bool on_ibsim, SmMode mode)
    : local_(std::move(local)), on_ibsim_(on_ibsim), mode_(mode) {}

UmadTransport::~UmadTransport() { Stop(); }

absl::Status UmadTransport::OpenHandle(int& handle) const {
  errno = 0;
  handle = umad_open_port(local_.device.c_str(), local_.port.value());
  if (handle >= 0) return absl::OkStatus();
  const int error = errno != 0 ? errno : -handle;
  const std::string port = fmt::format("{} port {}", local_.device, local_.port);
  if (error == EACCES || error == EPERM) {
    return absl::PermissionDeniedError(
        fmt::format("no permission to open the umad device of {}: run as root, or give the user "
                    "access to /dev/infiniband/umad* and issm*",
                    port));
  }
  if (error == ENOENT || error == ENODEV || error == ENXIO) {
    return NotFound("the umad device of {} is missing: load ib_umad", port);
  }
  return Unavailable("cannot open the umad device of {}: {}", port, ErrorText(error));
}

absl::Status UmadTransport::Register(Agent agent) {
  const AgentRule& rule = RuleOf(agent);
  constexpr size_t kBitsPerWord = 8 * sizeof(long);
  long methods[16 / sizeof(long)] = {};
  bool responds = false;
  for (const wire::Method method : rule.unsolicited) {
    if (!ReceivesRequests(mode_, agent, method)) continue;
    const size_t bit = static_cast<size_t>(method);
    methods[bit / kBitsPerWord] |= static_cast<long>(1ul << (bit % kBitsPerWord));
    responds = true;
  }
  errno = 0;
  const int id = umad_register(ChannelOf(agent).handle, static_cast<int>(rule.management_class),
                               rule.version, rule.rmpp_version, responds ? methods : nullptr);
  agents_[static_cast<size_t>(agent)].id = id;
  if (id >= 0) return absl::OkStatus();
  const int error = errno != 0 ? errno : -id;
  return FailedPrecondition("cannot register management class {:#04x} on {} port {}: {}{}",
                            static_cast<unsigned>(rule.management_class), local_.device,
                            local_.port, ErrorText(error),
                            IsTelemetryAgent(agent) ? "" : kNoSubnetManagement);
}

// The subnet does without counters: what is refused here, Send refuses.
void UmadTransport::OpenTelemetry() {
  const absl::Status opened = OpenHandle(telemetry_.handle);
  for (const Agent agent : kTelemetryAgents) {
    const absl::Status status = opened.ok() ? Register(agent) : opened;
    if (!status.ok())
      agents_[static_cast<size_t>(agent)].refusal = Unavailable("{}", Message(status));
  }
}

UmadTransport::Channel& UmadTransport::ChannelOf(Agent agent) {
  if (IsTelemetryAgent(agent)) return telemetry_;
  return agent == Agent::kSubnAdm ? sa_ : smp_;
}

absl::Status UmadTransport::Start(Sink sink) {
  FABRICD_CHECK(smp_.handle < 0, "started twice");
  sink_ = std::move(sink);
  stopping_ = false;
  loss_ = absl::OkStatus();
  absl::Status status = OpenHandle(smp_.handle);
  if (status.ok() && MayManage(mode_)) status = OpenHandle(sa_.handle);
  for (const AgentRule& rule : kRules) {
    const bool is_wanted =
        !IsTelemetryAgent(rule.agent) && (MayManage(mode_) || rule.agent != Agent::kSubnAdm);
    if (status.ok() && is_wanted) status = Register(rule.agent);
  }
  if (!status.ok()) {
    Stop();
    return status;
  }
  OpenTelemetry();
  StartReceiver(smp_, wire::kMadBytes, "umad-smp");
  if (sa_.handle >= 0) StartReceiver(sa_, kFirstGmpBytes, "umad-sa");
  if (telemetry_.handle >= 0) StartReceiver(telemetry_, wire::kMadBytes, "umad-telemetry");
  StartEventWatcher();
  return absl::OkStatus();
}

void UmadTransport::Stop() {
  stopping_ = true;
  if (stop_fd_ >= 0) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(stop_fd_, &one, sizeof(one));
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  if (stop_fd_ >= 0) close(stop_fd_);
  stop_fd_ = -1;
  for (const AgentRule& rule : kRules) {
    AgentState& agent = agents_[static_cast<size_t>(rule.agent)];
    if (agent.id >= 0) umad_unregister(ChannelOf(rule.agent).handle, agent.id);
    agent = {};
  }
  for (Channel* channel : {&smp_, &sa_, &telemetry_}) {
    if (channel->handle >= 0) umad_close_port(channel->handle);
    channel->handle = -1;
    channel->outstanding = 0;
  }
  std::lock_guard lock(is_sm_mutex_);
  if (is_sm_fd_ >= 0) close(is_sm_fd_);
  is_sm_fd_ = -1;
}

absl::Status UmadTransport::Send(const OutgoingMad& mad) {
  const AgentState& agent = agents_[static_cast<size_t>(mad.agent)];
  if (!agent.refusal.ok()) return agent.refusal;
  if (agent.id < 0) return FailedPrecondition("the umad transport is not started");
  Channel& channel = ChannelOf(mad.agent);
  if (on_ibsim_ && &channel == &telemetry_ && channel.outstanding >= kTelemetryRoomOfIbsim)
    return Unavailable("ibsim has no room for more than {} MADs", kTelemetryRoomOfIbsim);
  const size_t size = umad_size() + mad.payload.size();
  alignas(ib_user_mad) uint8_t small[512];
  std::vector<uint8_t> large;
  uint8_t* umad = small;
  if (size > sizeof(small)) {
    large.resize(size);
    umad = large.data();
  }
  std::memset(umad, 0, umad_size());
  std::memcpy(umad_get_mad(umad), mad.payload.data(), mad.payload.size());
  umad_set_addr(umad, mad.to.lid.value(), static_cast<int>(mad.to.qpn), mad.to.sl.value(),
                static_cast<int>(mad.to.qkey));
  umad_set_pkey(umad, mad.to.pkey_index);
  umad_get_mad_addr(umad)->path_bits = mad.to.path_bits;
  if (mad.to.global) SetGlobalRoute(*mad.to.global, *umad_get_mad_addr(umad));
  // A response under RMPP may have a timeout, but nothing that comes back for it ends a request.
  const bool is_request =
      mad.timeout > Duration::zero() && (mad.payload[kMethodAt] & wire::kResponseBit) == 0;
  if (is_request) channel.outstanding.fetch_add(1, std::memory_order_relaxed);
  errno = 0;
  const int result =
      umad_send(channel.handle, agent.id, umad, static_cast<int>(mad.payload.size()),
                static_cast<int>(Milliseconds(mad.timeout)), static_cast<int>(mad.retries));
  if (result >= 0) return absl::OkStatus();
  if (is_request) channel.outstanding.fetch_sub(1, std::memory_order_relaxed);
  return SendStatus(errno != 0 ? errno : -result, mad);
}

absl::Status UmadTransport::AgentStatus(Agent agent) const {
  return agents_[static_cast<size_t>(agent)].refusal;
}

absl::Status UmadTransport::PortStatus() const {
  std::lock_guard lock(loss_mutex_);
  return loss_;
}

absl::Status UmadTransport::SetIsSm(bool is_sm) {
  std::lock_guard lock(is_sm_mutex_);
  if (is_sm == (is_sm_fd_ >= 0)) return absl::OkStatus();
  if (!is_sm) {
    close(is_sm_fd_);
    is_sm_fd_ = -1;
    return absl::OkStatus();
  }
  char path[256];
  if (umad_get_issm_path(local_.device.c_str(), local_.port.value(), path, sizeof(path)) < 0) {
    return NotFound("{} port {} has no issm device: load ib_umad", local_.device, local_.port);
  }
  // Without O_NONBLOCK the kernel waits here for as long as another process holds it.
  is_sm_fd_ = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (is_sm_fd_ >= 0) return absl::OkStatus();
  const int error = errno;
  if (error == EAGAIN || error == EBUSY) {
    return Unavailable("{} is held by another process: a subnet manager runs on this port", path);
  }
  return FailedPrecondition("cannot open {}: {}", path, ErrorText(error));
}

void UmadTransport::StartReceiver(const Channel& channel, size_t expected_bytes, const char* name) {
  threads_.emplace_back([this, &channel, expected_bytes] { Receive(channel, expected_bytes); });
  pthread_setname_np(threads_.back().native_handle(), name);
}

// One receiver thread. What is there already is read before any of it is delivered, and under load
// a short pause lets more answers arrive: the core then wakes once for many, not once for each.
void UmadTransport::Receive(const Channel& channel, size_t expected_bytes) {
  prctl(PR_SET_TIMERSLACK, 1000ul);  // Nanoseconds: the pause is shorter than the default slack.
  const int header = static_cast<int>(umad_size());
  std::vector<uint8_t> buffer(umad_size() + expected_bytes);
  std::vector<Incoming> burst;
  bool more = false;
  while (!stopping_) {
    int length = static_cast<int>(buffer.size()) - header;
    errno = 0;
    const int result = umad_recv(channel.handle, buffer.data(), &length,
                                 more ? 0 : static_cast<int>(kPollInterval.count()));
    const int error = errno != 0 ? errno : -result;
    if (result >= 0) {
      Append(buffer.data(), length, burst);
      buffer.resize(umad_size() + expected_bytes);
    } else if (error == ENOSPC && length > 0) {
      // The kernel keeps an RMPP message that did not fit, and says in `length` what it takes.
      buffer.resize(umad_size() + static_cast<size_t>(length));
    } else if (error != EINTR && error != ETIMEDOUT && error != EAGAIN) {
      ReportLoss(fmt::format("reading from its umad device failed: {}", ErrorText(error)));
      break;
    }
    // As long as there is something, the next read is the question whether there is more.
    more = result >= 0 && burst.size() < kMaxBurst;
    if (more || burst.empty()) continue;
    // The consumer refills what it takes.
    const int in_flight = channel.outstanding + static_cast<int>(burst.size());
    sink_(burst);
    burst.clear();
    // Clients of the SA ask; to the other agents nearly all are answers to what we asked.
    if (in_flight >= kBusyInFlight && &channel != &sa_)
      std::this_thread::sleep_for(std::min(in_flight, kMaxInFlight) * kPausePerMad);
  }
}

void UmadTransport::Append(uint8_t* umad, int length, std::vector<Incoming>& burst) {
  const auto* const mad = static_cast<const uint8_t*>(umad_get_mad(umad));
  if (length < kMadHeaderBytes) return;
  const std::optional<Agent> agent = AgentOfClass(mad[1]);
  if (!agent) return;
  auto& incoming = std::get<IncomingMad>(burst.emplace_back());
  incoming.agent = *agent;
  const int status = umad_status(umad);
  if (status == ETIMEDOUT) {
    incoming.kind = IncomingMad::Kind::kTimedOut;
  } else if (status != 0) {
    incoming.kind = IncomingMad::Kind::kSendFailed;
  }
  if (EndsRequest(incoming.kind, mad[kMethodAt]))
    ChannelOf(*agent).outstanding.fetch_sub(1, std::memory_order_relaxed);
  const ib_mad_addr_t& address = *umad_get_mad_addr(umad);
  incoming.from.lid = Lid(be16toh(address.lid));
  incoming.from.qpn = be32toh(address.qpn);
  incoming.from.qkey = be32toh(address.qkey);
  incoming.from.sl = ServiceLevel(address.sl);
  incoming.from.pkey_index = address.pkey_index;
  incoming.from.path_bits = address.path_bits;
  incoming.from.global = GlobalRouteOf(address);
  // ib_umad reports a time-out with the MAD header alone.
  incoming.payload.reserve(std::max<size_t>(length, wire::kMadBytes));
  incoming.payload.assign(mad, mad + length);
  if (incoming.payload.size() < wire::kMadBytes) incoming.payload.resize(wire::kMadBytes);
}

void UmadTransport::Report(LocalPortEvent::Kind kind) {
  Incoming event = LocalPortEvent{kind};
  sink_(std::span(&event, 1));
}

// A receive thread ends after this, so the port is of no further use.
void UmadTransport::ReportLoss(std::string cause) {
  {
    std::lock_guard lock(loss_mutex_);
    if (!loss_.ok()) return;
    loss_ = Unavailable("{} port {} is lost: {}", local_.device, local_.port, cause);
  }
  Report(LocalPortEvent::Kind::kDeviceRemoved);
}

void UmadTransport::StartEventWatcher() {
  stop_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop_fd_ < 0) return;
  threads_.emplace_back([this] { WatchEvents(); });
  pthread_setname_np(threads_.back().native_handle(), "verbs-events");
}

// A thread. It also opens the context: with many devices that takes longer than a sweep of a small
// fabric. ibsim has no verbs: then the port's changes are seen by sweeps and traps only.
void UmadTransport::WatchEvents() {
  const ContextPtr context = OpenContext(local_.device);
  if (context == nullptr) return;
  while (!stopping_) {
    pollfd waits[] = {{context->async_fd, POLLIN, 0}, {stop_fd_, POLLIN, 0}};
    if (poll(waits, std::size(waits), -1) < 0 && errno != EINTR) return;
    if (!TakeEvents(context.get())) return;
    if ((waits[0].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
      if (!stopping_) ReportLoss("its verbs device has ended");
      return;
    }
  }
}

// Reports all events that wait. False: after one of them there are no more.
bool UmadTransport::TakeEvents(ibv_context* context) {
  ibv_async_event event;
  while (!stopping_ && ibv_get_async_event(context, &event) == 0) {
    const std::optional<LocalPortEvent::Kind> kind = KindOf(event.event_type);
    const bool of_port = event.element.port_num == local_.port.value();
    ibv_ack_async_event(&event);
    if (kind == LocalPortEvent::Kind::kDeviceRemoved) {
      ReportLoss("its driver reports a fatal error (IBV_EVENT_DEVICE_FATAL)");
      return false;
    }
    if (kind && of_port) Report(*kind);
  }
  return true;
}

}  // namespace fabricd::mad

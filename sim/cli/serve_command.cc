// SPDX-License-Identifier: Apache-2.0
#include "sim/cli/serve_command.h"

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <absl/strings/numbers.h>

#include "common/status.h"
#include "sim/cli/stop_signal.h"
#include "sim/fabric/sim_fabric.h"
#include "sim/fabric/topology.h"
#include "sim/kernel/frame_link.h"
#include "sim/kernel/kernel_server.h"
#include "sim/kernel/relay.h"

namespace fabricd::sim {
namespace {

struct ServeRequest {
  std::string topology;
  KernelServer::Options server;
  std::vector<std::string> places;  // HCA[/PORT]=HOST
  bool keep_lids = false;
};

int Fail(const absl::Status& status, int code) {
  fmt::print(stderr, "fabricsim: {}\n", Message(status));
  return code;
}

// "0=node0001", "1/2=node0002 mlx5_0/1"
absl::Status ParsePlace(const std::string& text, KernelWire::Places& places) {
  const size_t equals = text.find('=');
  const std::string port = text.substr(0, equals);
  const size_t slash = port.find('/');
  uint32_t hca = 0, number = 1;
  const bool good =
      equals != std::string::npos && absl::SimpleAtoi(port.substr(0, slash), &hca) &&
      (slash == std::string::npos || absl::SimpleAtoi(port.substr(slash + 1), &number)) &&
      hca <= UINT16_MAX && number >= 1 && number <= 2;
  if (!good) return InvalidArgument("'{}' is not HCA[/PORT]=HOST", text);
  places[{static_cast<uint16_t>(hca), static_cast<uint8_t>(number)}] = text.substr(equals + 1);
  return absl::OkStatus();
}

int Serve(ServeRequest& request) {
  for (const std::string& place : request.places) {
    const absl::Status parsed = ParsePlace(place, request.server.places);
    if (!parsed.ok()) return Fail(parsed, kExitUsage);
  }
  const auto topology = MakeTopology(request.topology);
  if (!topology.ok()) return Fail(topology.status(), kExitUsage);
  SimOptions options;
  options.device.keep_lids = request.keep_lids;
  SimFabric fabric(**topology, options);
  KernelServer server(fabric, request.server);
  const absl::Status opened = server.Open();
  if (!opened.ok()) return Fail(opened, kExitFailure);
  const absl::Status ended = server.Run(StopOnSignals());
  return ended.ok() ? kExitOk : Fail(ended, kExitFailure);
}

int RunRelay(const std::string& device, const std::string& stream) {
  absl::StatusOr<FrameLink> module = FrameLink::OpenDevice(device);
  if (!module.ok()) return Fail(module.status(), kExitFailure);
  absl::StatusOr<FrameLink> fabric = FrameLink::OpenStream(stream);
  if (!fabric.ok()) return Fail(fabric.status(), kExitFailure);
  const absl::Status ended = Relay(*module, *fabric, StopOnSignals());
  return ended.ok() ? kExitOk : Fail(ended, kExitFailure);
}

}  // namespace

void AddServe(CLI::App& app, Run& run) {
  const auto request = std::make_shared<ServeRequest>();
  CLI::App* serve = app.add_subcommand(
      "serve", "Be the fabric of the kernel's virtual HCAs (kernel/simib), in real time");
  serve
      ->add_option("topology", request->topology,
                   "A topology file, or a generator such as fat-tree:radix=8,levels=2")
      ->required();
  serve
      ->add_option(
          "--kernel", request->server.kernel,
          "The module's device; unix:PATH: a socket that `fabricsim relay` of other kernels "
          "connects to")
      ->type_name("DEVICE")
      ->required();
  serve->add_option("--place", request->places,
                    "HCA[/PORT]=HOST: where a port of the module sits; by default on the host port "
                    "with its GUID, else on the next free one");
  serve->add_option("--console", request->server.console, "A FIFO to read commands from");
  serve->add_flag("--keep-lids", request->keep_lids, "Devices start with the topology's LIDs");
  serve->final_callback([&run, request] { run = [request] { return Serve(*request); }; });
}

void AddRelay(CLI::App& app, Run& run) {
  const auto device = std::make_shared<std::string>();
  const auto stream = std::make_shared<std::string>();
  CLI::App* relay = app.add_subcommand(
      "relay", "Connect this kernel's virtual HCAs to a `serve` outside of this machine");
  relay->add_option("device", *device, "The module's device")->required();
  relay
      ->add_option(
          "stream", *stream,
          "A character device that leads to the socket of `serve --kernel unix:PATH`: a serial "
          "line, a virtio port")
      ->required();
  relay->final_callback(
      [&run, device, stream] { run = [device, stream] { return RunRelay(*device, *stream); }; });
}

}  // namespace fabricd::sim

// SPDX-License-Identifier: Apache-2.0
// KeyProof: which requests for SMInfo are shown the SM_Key. IBA vol 1 §14.2.5.13 shows it to
// authenticated requesters only, and leaves open how they are. OpenSM sends no key with a request,
// shows its own to all while its port has no M_Key, ignores an SM that does not show it the same
// one, and becomes master beside it. Therefore:
//   a request with this port's M_Key, or with the SM_Key itself, is shown it;
//   one that names its sender needs none: fabricd sends such (DeviceTable), so two of them neither
//   show each other a key nor wait for each other;
//   any other is held while its sender is asked for its own SMInfo, along the route of the request.
//   One that shows the same key is shown it; a host without an SM has none to show.
//
// Pure, and owned by Mastership. 16 questions are out at most, 4 of them to one host, and 4
// requests wait for each; further ones are answered at once, without the key.
#pragma once

#include <optional>
#include <vector>

#include "common/ids.h"
#include "mad/transaction_engine.h"
#include "mad/transport.h"
#include "sweep/device/device_table.h"

namespace fabricd::sweep {

class KeyProof {
 public:
  static constexpr size_t kMostQuestions = 16, kMostToOneHost = 4, kMostWaiting = 4;

  enum class Verdict : uint8_t {
    kShow,  // Answer now, with the key.
    kHide,  // Answer now, without it.
    kWait,  // Answer when OnCompletion() says so.
  };
  struct Keys {
    SmKey sm_key;
    MKey m_key;  // Of this port; 0: it authenticates no request.
  };
  struct Request {
    mad::IncomingMad mad;
    wire::Smp smp;
  };
  struct Proof {
    bool proven = false;
    std::vector<Request> requests;  // To be answered now, with the key where it is proven.
  };

  // The requests carry `context`; its number is that of the question.
  KeyProof(const DeviceTable& devices, mad::TransactionEngine& engine, mad::RequestContext context);

  // A Get of SMInfo. `back` leads to its sender, on this host as far as is known; nullopt: it was
  // routed by LID, or comes from this very node.
  Verdict OnRequest(const Request& request, const Keys& own,
                    const std::optional<wire::DirectedPath>& back, mad::DeviceId host);
  Proof OnCompletion(const mad::Completion& completion, SmKey own);
  // The engine has dropped all requests without completions: the questions are asked again.
  void AskAgain();

 private:
  struct Question {
    uint32_t number;
    wire::DirectedPath back;
    mad::DeviceId host;
    std::vector<Request> waiting;
  };
  void Ask(const Question& question);
  Verdict Wait(Question& question, const Request& request);

  const DeviceTable& devices_;
  mad::TransactionEngine& engine_;
  const mad::RequestContext context_;
  std::vector<Question> questions_;
  uint32_t next_number_ = 0;
};

}  // namespace fabricd::sweep

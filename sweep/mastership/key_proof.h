// SPDX-License-Identifier: Apache-2.0
// KeyProof: requester authentication, which decides whether a response to a Get of SMInfo contains
// the SM_Key. IBA vol 1 §14.2.5.13 returns it only to authenticated requesters, but does not say
// how they are authenticated. OpenSM sends no key with a request, and returns its own to everyone
// while its port has no M_Key. It ignores an SM that does not return the same key, and becomes
// master beside it. Therefore:
//   a request with this port's M_Key, or with the SM_Key itself, gets the key;
//   a request that names its sender needs no key and gets none. fabricd names itself (DeviceTable),
//   so two fabricds neither exchange keys nor wait for each other;
//   any other request is held while its sender is asked for its own SMInfo, along the route of the
//   request. If the sender returns the same key, it gets the key. A host without an SM returns
//   none.
//
// Pure, and owned by Mastership. At most 16 questions are open, 4 of them to one host, and 4
// requests wait for each. Further requests are answered at once, without the key.
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
    kShow,  // Respond now, with the key.
    kHide,  // Respond now, without it.
    kWait,  // Respond when OnCompletion() returns the request.
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
    std::vector<Request> requests;  // To respond to now, with the key if `proven`.
  };

  // The requests carry `context`, with the number of the question.
  KeyProof(const DeviceTable& devices, mad::TransactionEngine& engine, mad::RequestContext context);

  // A Get of SMInfo. `back` leads to its sender, which is on `host` as far as is known. nullopt:
  // the request was routed by LID, or comes from this node.
  Verdict OnRequest(const Request& request, const Keys& own,
                    const std::optional<wire::DirectedPath>& back, mad::DeviceId host);
  Proof OnCompletion(const mad::Completion& completion, SmKey own);
  // The engine has dropped all requests without completions, so the questions are sent again.
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

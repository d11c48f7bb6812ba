// SPDX-License-Identifier: Apache-2.0
// AppliedBlocks: the confirmed P_Key or GUID table of a port, by the rules of AppliedLft. A block
// is known from the GetResp that showed it until the next Set of it. If a device answers a Set with
// other values, its responses prove nothing, so the block is written until the device agrees.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace fabricd::sweep {

template <typename Table>
class AppliedBlocks {
 public:
  size_t size() const { return blocks_.size(); }
  bool empty() const { return blocks_.empty(); }
  // Added blocks are unknown.
  void Resize(size_t blocks) { blocks_.resize(blocks); }
  void GrowTo(size_t blocks) {
    if (size() < blocks) Resize(blocks);
  }
  // All blocks must be read again, except contradicted ones.
  void ReadAgain() {
    for (Block& block : blocks_)
      if (!block.contradicted) block.held.reset();
  }
  // The device has lost the table, or another SM may have written it.
  void Forget() { blocks_.assign(blocks_.size(), Block()); }

  bool Knows(size_t block) const {
    return block < blocks_.size() && blocks_[block].held && !blocks_[block].contradicted;
  }
  bool IsContradicted(size_t block) const {
    return block < blocks_.size() && blocks_[block].contradicted;
  }
  bool HasContradicted() const {
    for (const Block& block : blocks_)
      if (block.contradicted) return true;
    return false;
  }
  // The content that the next Set starts from. For a contradicted block this is what was sent.
  // Null: the block must be read.
  const Table* Find(size_t block) const {
    return block < blocks_.size() && blocks_[block].held ? &*blocks_[block].held : nullptr;
  }

  // A GetResp to a Get showed this.
  void Confirm(size_t block, const Table& table) {
    if (block >= blocks_.size()) return;
    blocks_[block].held = table;
    blocks_[block].contradicted = false;
  }
  // A Set of this block is being sent. Only its response confirms the block.
  void MarkSent(size_t block, const Table& table) {
    if (block >= blocks_.size()) return;
    blocks_[block].held.reset();
    blocks_[block].contradicted = false;
    blocks_[block].sent = table;
  }
  // The response to the last Set of this block. Returns false if it shows other values. Ignored if
  // the table was forgotten since the Set.
  bool Answer(size_t block, const Table& shown) {
    if (block >= blocks_.size() || !blocks_[block].sent) return true;
    Block& answered = blocks_[block];
    answered.contradicted = !(*answered.sent == shown);
    answered.held = answered.sent;
    answered.sent.reset();
    return !answered.contradicted;
  }

 private:
  struct Block {
    std::optional<Table> held;  // nullopt: not known.
    std::optional<Table> sent;  // No response yet.
    bool contradicted = false;
  };
  std::vector<Block> blocks_;
};

}  // namespace fabricd::sweep

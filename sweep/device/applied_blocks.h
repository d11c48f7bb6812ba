// SPDX-License-Identifier: Apache-2.0
// AppliedBlocks: a port's table of P_Keys or GUIDs as confirmed, by AppliedLft's rules. A block is
// known only between the GetResp that showed it and the next Set of it. A device that answers a Set
// with other values is written to until it agrees, because what it shows proves nothing.
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
  // Nothing is known of blocks that are added.
  void Resize(size_t blocks) { blocks_.resize(blocks); }
  void GrowTo(size_t blocks) {
    if (size() < blocks) Resize(blocks);
  }
  // All blocks are to be read again, except those that are contradicted.
  void ReadAgain() {
    for (Block& block : blocks_)
      if (!block.contradicted) block.held.reset();
  }
  // The device has lost the table, or somebody else may have written it.
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
  // The content that the next Set starts from. Of a contradicted block this is what was sent. Null:
  // the block must be read.
  const Table* Find(size_t block) const {
    return block < blocks_.size() && blocks_[block].held ? &*blocks_[block].held : nullptr;
  }

  // The device showed this, asked by a Get.
  void Confirm(size_t block, const Table& table) {
    if (block >= blocks_.size()) return;
    blocks_[block].held = table;
    blocks_[block].contradicted = false;
  }
  // A Set of this block leaves. Confirmed by its answer alone.
  void MarkSent(size_t block, const Table& table) {
    if (block >= blocks_.size()) return;
    blocks_[block].held.reset();
    blocks_[block].contradicted = false;
    blocks_[block].sent = table;
  }
  // The answer to the last Set of this block. False: the device shows something else. Nothing is
  // learnt where the table was forgotten meanwhile.
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
    std::optional<Table> sent;  // Not answered (yet).
    bool contradicted = false;
  };
  std::vector<Block> blocks_;
};

}  // namespace fabricd::sweep

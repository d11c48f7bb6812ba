// SPDX-License-Identifier: Apache-2.0
#include "sweep/device/key_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sweep/device/m_keys.h"

namespace fabricd::sweep {
namespace {

using ::testing::ElementsAre;

const KeySearch::Cable kCable{Guid(0x10), PortNum(9)}, kOther{Guid(0x10), PortNum(8)};

class KeySearchTest : public ::testing::Test {
 protected:
  KeySearchTest() { options_.m_key_secret = "a secret of some length"; }
  MKey Key(uint64_t guid) const { return DeriveMKey(options_.m_key_secret, Guid(guid)); }

  SmOptions options_;
  KeySearch search_{options_};
};

TEST_F(KeySearchTest, WithoutAnyGuidThereIsNoKey) {
  EXPECT_THAT(search_.Next(kCable, {}), ElementsAre(MKey(0)));
}

TEST_F(KeySearchTest, ThePortThatWasBehindTheCableComesFirst) {
  options_.neighbors[kCable] = Guid(0x77);
  EXPECT_THAT(search_.Next(kCable, {}), ElementsAre(Key(0x77)));
  search_.NoteFound(kCable, Guid(0x78));
  search_.NoteFound(kOther, Guid(0x79));
  search_.NoteGone(Guid(0x78));
  EXPECT_THAT(search_.Next(kCable, {}), ElementsAre(Key(0x78)));
  EXPECT_THAT(search_.Next(kCable, {MKey(5)}), ElementsAre(MKey(5), Key(0x78)));
}

TEST_F(KeySearchTest, PortsThatAreAwayAreTriedInTurn) {
  options_.neighbors[kCable] = Guid(0x77);
  search_.SetKnownPorts({Guid(1), Guid(2), Guid(3), Guid(4), Guid(5), Guid(6), Guid(7)});
  search_.NoteFound(kOther, Guid(2));
  EXPECT_THAT(search_.Next(kCable, {}),
              ElementsAre(Key(0x77), Key(1), Key(3), Key(4), Key(5), Key(6)));
  search_.NoteGone(Guid(2));
  EXPECT_THAT(search_.Next(kCable, {}),
              ElementsAre(Key(0x77), Key(7), Key(1), Key(2), Key(3), Key(4)));
}

TEST_F(KeySearchTest, WithOneKeyForAllNothingIsRemembered) {
  options_.m_key_secret.clear();
  options_.m_key = MKey(9);
  search_.SetKnownPorts({Guid(1)});
  search_.NoteFound(kCable, Guid(1));
  search_.NoteGone(Guid(1));
  EXPECT_THAT(search_.Next(kCable, {}), ElementsAre(MKey(9)));
}

TEST_F(KeySearchTest, KeysOfAFileGoByTheCableToo) {
  options_.m_key_secret.clear();
  options_.m_key = MKey(9);
  options_.m_key_by_guid[Guid(0x77)] = MKey(7);
  search_.NoteFound(kCable, Guid(0x77));
  EXPECT_THAT(search_.Next(kCable, {}), ElementsAre(MKey(7), MKey(9)));
}

}  // namespace
}  // namespace fabricd::sweep

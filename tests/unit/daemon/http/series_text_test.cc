// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/series_text.h"

#include <gtest/gtest.h>

namespace fabricd::http {
namespace {

TEST(SeriesTextTest, AFamilyHasItsHeadOnceAndNoneWithoutSeries) {
  SeriesText out;
  out.Begin("a_total", "How often.", SeriesText::Type::kCounter);
  out.Add("port=\"1\"", uint64_t{18446744073709551615U});
  out.Add("port=\"2\"", uint64_t{0});
  out.Begin("nothing", "Has no series.");
  out.Begin("b", "A gauge.");
  out.Add("", 0.25);
  EXPECT_EQ(out.text(),
            "# HELP a_total How often.\n"
            "# TYPE a_total counter\n"
            "a_total{port=\"1\"} 18446744073709551615\n"
            "a_total{port=\"2\"} 0\n"
            "# HELP b A gauge.\n"
            "# TYPE b gauge\n"
            "b 0.25\n");
}

TEST(SeriesTextTest, NumbersAreWrittenInFull) {
  SeriesText out;
  out.Begin("a", "A gauge.");
  out.Add("", 50e9);
  out.Add("", 1.25e-15);
  out.Add("", 7.512196864429102e-13);
  EXPECT_EQ(out.text().substr(out.text().find("gauge\n") + 6),
            "a 50000000000\na 1.25e-15\na 7.512196864429102e-13\n");
}

TEST(SeriesTextTest, AnyTextOfADeviceIsEscapedAsALabel) {
  EXPECT_EQ(Label("switch", "leaf \"1\"\\\n"), "switch=\"leaf \\\"1\\\"\\\\\\n\"");
  EXPECT_EQ(Label("switch", "Blatt ü"), "switch=\"Blatt ü\"");
  EXPECT_EQ(Label("switch", "\xFF!"), "switch=\"?!\"");
}

}  // namespace
}  // namespace fabricd::http

// The primitives behind the progress macro: a redrawn bar on a terminal, plain lines elsewhere.
#include <fmt/format.h>

#include <chrono>

#include "builtins/core/numeric.h"
#include "builtins/core/text.h"
#include "builtins/host/families.h"
#include "builtins/host/output.h"
#include "builtins/host/progress_text.h"
#include "builtins/host/series.h"
#include "value/dict.h"
#include "value/print.h"

namespace sheaf::builtins {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds kBetweenDrawings{100};

struct BarObj final : Object {
  int64_t total = 0, every = 0, first = 0;  // `first`: iterations done before this run
  Value show;
  Clock::time_point start = Clock::now(), drawn;
  bool is_drawn = false;
  // If an error or Ctrl-C ends the loop, its bar stays as it was.
  ~BarObj() override {
    try {
      if (is_drawn) keep_status();
    } catch (const UserError&) {  // standard output is closed; the next write will report it
    }
  }
  // A closed terminal must not end a training run.
  void draw(const Progress& p, bool last = false) {
    is_drawn = true;
    try {
      set_status(progress_bar(p, terminal_width()));
      if (last) keep_status();
    } catch (const UserError&) {
    }
    if (last) is_drawn = false;
  }
};

std::string shown_value(const Value& v) {
  Value now = trace::concrete_tree(v);
  bool scalar = now.is_number() || (now.is_tensor() && now.as_tensor().num_elems() == 1);
  return scalar ? short_number(to_double(now, "progress")) : text_of(now);
}

void shown_values(Call& c, const BarObj& bar, const Value& acc, Progress& out) {
  if (bar.show.is_nil()) return;
  Value v = c.caller.call(bar.show, {acc});
  if (!v.is_dict()) {
    out.values.emplace_back("", shown_value(v));
    return;
  }
  for (const DictEntry& e : v.as_dict().entries())
    out.values.emplace_back(e.key.str(), shown_value(e.value));
}

// (%progress-start total options first)
Value start(Call& c) {
  auto* bar = new BarObj;
  Value v = Value::object(Tag::Opaque, bar);
  bar->total = to_index(c[0], "progress");
  bar->first = to_index(c[2], "progress");
  bar->every = std::max<int64_t>(1, bar->total / 10);
  if (!c[1].is_dict() && !c[1].is_nil())
    throw runtime_error("progress: expected a dict of options, got " + short_text(c[1]));
  if (c[1].is_dict())
    for (const DictEntry& e : c[1].as_dict().entries()) {
      if (e.key.str() == "every")
        bar->every = to_index(e.value, "progress");
      else if (e.key.str() == "show")
        bar->show = e.value;
      else
        throw runtime_error("progress: unknown option :" + e.key.str() + ". Known options: :every :show");
    }
  if (bar->every <= 0 || bar->total <= 0) return v;
  // Shows something during the first iteration, and when no iteration is left.
  if (bar->first >= bar->total)
    write_out(fmt::format("{}/{}  100%  done by an earlier run\n", bar->first, bar->total));
  else if (is_terminal_out())
    bar->draw({bar->first, bar->total, bar->first, 0, {}});
  return v;
}

// (%progress-tick bar i acc): iteration i is done; returns acc.
Value tick(Call& c) {
  auto& bar = *static_cast<BarObj*>(c[0].object());
  int64_t done = to_index(c[1], "progress") + 1;
  bool last = done == bar.total;
  if (bar.every <= 0) return std::move(c[2]);
  bool terminal = is_terminal_out();
  Clock::time_point now = Clock::now();
  if (terminal ? !last && now - bar.drawn < kBetweenDrawings : !last && done % bar.every != 0) return std::move(c[2]);
  bar.drawn = now;
  Progress p{done, bar.total, bar.first, std::chrono::duration<double>(now - bar.start).count(), {}};
  shown_values(c, bar, c[2], p);
  if (!terminal)
    write_out(progress_line(p) + "\n"), flush_out();  // for readers of a log, and for runs that are killed
  else
    bar.draw(p, last);
  return std::move(c[2]);
}

const BuiltinDef kBuiltins[] = {
    {"%progress-start", "", "", "", {}, 3, 3, start, {}, Effect::Input},
    {"%progress-tick", "", "", "", {}, 3, 3, tick, {}, Effect::Input},
};

}  // namespace

std::span<const BuiltinDef> progress_builtins() { return kBuiltins; }

}  // namespace sheaf::builtins

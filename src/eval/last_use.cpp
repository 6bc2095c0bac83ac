#include "eval/last_use.h"

namespace sheaf::eval {
namespace {

using Live = std::vector<bool>;  // by slot: still needed after the current point

// Walks backwards in evaluation order. A use of a slot that is not live afterwards is its last.
struct Marker {
  void merge(Live& into, const Live& other) {
    for (size_t i = 0; i < into.size(); ++i)
      into[i] = into[i] || other[i];
  }

  void items_backwards(Expr& e, Live& live) {
    for (size_t i = e.items.size(); i-- > 0;)
      walk(*e.items[i], live);
  }

  // Marks what the next iteration of a loop needs: everything used inside except its own bindings, which are bound
  // again before use.
  void add_needs_of_turn(const Expr& body, Live& live) {
    Live used(live.size(), false);
    add_uses(body, used);
    remove_bound(body, used);
    merge(live, used);
  }
  void add_uses(const Expr& e, Live& live) {
    if (e.kind == ExprKind::Local) live[e.slot] = true;
    for (const auto& x : e.items)
      add_uses(*x, live);
    for (const auto& x : e.captures)
      add_uses(*x, live);
  }
  void remove_bound(const Expr& e, Live& live) {
    if (e.kind == ExprKind::Bind) live[e.slot] = false;
    if (e.kind == ExprKind::Destructure) {
      for (int s : e.slots)
        live[s] = false;
      if (e.rest_slot >= 0) live[e.rest_slot] = false;
    }
    for (const auto& x : e.items)
      remove_bound(*x, live);
  }

  void walk(Expr& e, Live& live) {
    switch (e.kind) {
      case ExprKind::Local:
        e.last = !live[e.slot];
        live[e.slot] = true;
        return;
      case ExprKind::If: {
        Live other = live;
        walk(*e.items[1], live);
        walk(*e.items[2], other);
        merge(live, other);
        walk(*e.items[0], live);
        return;
      }
      case ExprKind::And:
      case ExprKind::Or:
        // Any operand may be evaluated last: nothing that a later one uses is dead before it.
        for (size_t i = e.items.size(); i-- > 0;) {
          Live skipped = live;
          walk(*e.items[i], live);
          merge(live, skipped);
        }
        return;
      case ExprKind::Bind:
        walk(*e.items[1], live);
        live[e.slot] = false;
        walk(*e.items[0], live);
        return;
      case ExprKind::Destructure:
        walk(*e.items[1], live);
        for (int s : e.slots)
          live[s] = false;
        if (e.rest_slot >= 0) live[e.rest_slot] = false;
        walk(*e.items[0], live);
        return;
      case ExprKind::Fn:
        for (size_t i = e.captures.size(); i-- > 0;)
          walk(*e.captures[i], live);
        return;
      case ExprKind::While: {
        Live inside = live;
        add_needs_of_turn(*e.items[0], inside);
        add_needs_of_turn(*e.items[2], inside);
        inside[e.slot] = false;  // the body's value replaces the accumulator
        Live body = inside;
        walk(*e.items[2], body);
        inside[e.slot] = true;
        walk(*e.items[0], inside);
        live = inside;
        live[e.slot] = false;
        walk(*e.items[1], live);
        return;
      }
      case ExprKind::Repeat: {
        Live inside = live;
        add_needs_of_turn(*e.items[2], inside);
        inside[e.slot] = false;
        inside[e.slot2] = false;
        Live body = inside;
        walk(*e.items[2], body);
        live = inside;
        walk(*e.items[1], live);
        walk(*e.items[0], live);
        return;
      }
      case ExprKind::Loop: {
        Expr& body = *e.items.back();
        Live inside = live;
        add_needs_of_turn(body, inside);
        for (int s : e.slots)
          inside[s] = false;  // each iteration sets all of them
        Live turn = inside;
        loops_.push_back(inside);
        walk(body, turn);
        loops_.pop_back();
        merge(turn, inside);
        live = turn;
        // In sequence: later initialisers and the body may use what an earlier name holds.
        for (size_t i = e.items.size() - 1; i-- > 0;) {
          live[e.slots[i]] = false;
          walk(*e.items[i], live);
        }
        return;
      }
      case ExprKind::Recur:
        live = loops_.empty() ? Live(live.size(), false) : loops_.back();
        items_backwards(e, live);
        return;
      case ExprKind::Try: {
        // The handler may run after any part of the body.
        Live handler = live;
        walk(*e.items[1], handler);
        merge(live, handler);
        Live keep = live;
        walk(*e.items[0], live);
        merge(live, keep);
        return;
      }
      default: items_backwards(e, live);
    }
  }

  std::vector<Live> loops_;
};

}  // namespace

void mark_last_uses(Expr& body, int num_slots) {
  Live live(num_slots, false);
  Marker().walk(body, live);
}

}  // namespace sheaf::eval

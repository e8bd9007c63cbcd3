package sim

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// checkHistories looks at what the clients saw, family by family: there must be one
// order of the calls, within their times, in which each had the effect and the
// reply that it had. A call that never returned has happened or not. This judge
// knows nothing of the order in which the simulation sent the calls.
func (s *simulation) checkHistories() {
	for f := range families {
		var history []porcupine.Operation
		for _, k := range s.calls {
			n, linear := k.family()
			if !linear || n != f || k.outcome == refused {
				continue
			}
			if k.outcome == pending {
				k.ended = s.event
			}
			history = append(history, porcupine.Operation{ClientId: k.client.id, Input: k,
				Call: int64(k.sent), Return: int64(k.ended)})
		}
		switch porcupine.CheckOperationsTimeout(registers(), history, 10*time.Second) {
		case porcupine.Illegal:
			s.violate("the history of family %d is not linearizable", f)
		case porcupine.Unknown:
			s.report.Unjudged++
		default:
			s.report.Histories++
		}
	}
}

// registers is the sequential model of strings, counters, lists and hashes. What
// has an outcome stands in the input.
func registers() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init:  func() []any { return []any{newState()} },
		Step:  func(from, input, _ any) []any { return steps(from.(*state), input.(*call)) },
		Equal: func(a, b any) bool { return a.(*state).equal(b.(*state)) },
	}
	return m.ToModel()
}

// steps are the states that a call may lead to.
func steps(from *state, k *call) (to []any) {
	if k.outcome != returned {
		to = append(to, from)
	}
	if k.blocks() {
		return append(to, pops(from, k)...)
	}
	r := &run{state: from.clone(), db: k.db}
	var replies []string
	for _, args := range k.commands {
		replies = append(replies, r.do(args))
	}
	reply := replies[0]
	if k.atomic {
		reply = list(replies)
	}
	if k.outcome == returned && reply != k.got {
		return to
	}
	return append(to, r.state)
}

// pops are the states that a BLPOP may lead to: one that waited is served from
// whichever of its keys was pushed to.
func pops(from *state, k *call) (to []any) {
	if k.outcome == returned && k.got == absent {
		return append(to, from)
	}
	args := k.commands[0]
	for _, key := range args[1 : len(args)-1] {
		r := &run{state: from.clone(), db: k.db}
		if reply := r.pop([]string{key}); reply != absent && (k.outcome != returned || reply == k.got) {
			to = append(to, r.state)
		}
	}
	return to
}

// Package testscale says by how much tests save under the race detector. It slows them tenfold,
// and a test in which one goroutine does the same again and again, with other numbers, shows
// it nothing new after the first rounds: such tests divide their rounds by By, and all of
// them run in `make test`. Tests of what several goroutines do at once keep their rounds.
// Nothing but tests imports this package.
package testscale

// Rounds is how many of n rounds a test does: at least one.
func Rounds[N int | int64 | uint64](n N) N { return max(1, n/By) }

// Some is the cases that a test tries: the first, and each By-th after it.
func Some[Case any](cases []Case) (some []Case) {
	for i := 0; i < len(cases); i += By {
		some = append(some, cases[i])
	}
	return some
}

package tasks

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Steps are made when they are due, one at a time, and the last one follows all others.
func TestLastStepFollowsAllOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var done []string
		ctx, cancel := context.WithCancel(t.Context())
		w := &Work{Name: "w", Wake: make(chan struct{}, 1), Period: time.Minute, Last: func() { done = append(done, "last") }}
		w.Step = func(periodic bool) {
			done = append(done, map[bool]string{true: "tick", false: "woken"}[periodic])
			if w.Try() {
				t.Error("a step was made amid another one")
			}
		}
		var g Group
		g.Start(ctx, nil, w)
		w.Signal()
		w.Signal() // there is a token already
		synctest.Wait()
		<-time.After(time.Minute)
		synctest.Wait()
		cancel()
		g.Wait()
		if !w.Try() {
			t.Error("a step after the end waits")
		}
		if len(done) != 3 || done[0] != "woken" || done[1] != "tick" || done[2] != "last" {
			t.Errorf("steps %q", done)
		}
	})
}

// A driver makes the steps itself; the group makes the last one.
func TestDriverMakesTheSteps(t *testing.T) {
	var given Task
	steps, ended := 0, false
	ctx, cancel := context.WithCancel(t.Context())
	var g Group
	w := &Work{Name: "w", Wake: make(chan struct{}, 1), Step: func(bool) { steps++ }, Last: func() { ended = true }}
	g.Start(ctx, func(task Task) { given = task }, w)
	w.Signal()
	<-given.Wake
	given.Step(false)
	cancel()
	g.Wait()
	if given.Step(true); steps != 1 || !ended || given.Name != "w" {
		t.Errorf("%d steps, ended: %v", steps, ended)
	}
	if (*Work)(nil).Try() {
		t.Error("a step of no work was made")
	}
}

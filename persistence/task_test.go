package persistence

import (
	"testing"
	"testing/synctest"
)

// TestStoreDoesNothingBehindTheBackOfItsDriver makes the steps of the background
// work by hand: without them nothing is written, and Close still writes all.
func TestStoreDoesNothingBehindTheBackOfItsDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tasks := map[string]Task{}
		o := Options{InMemory: true, Sync: SyncAlways, Background: func(t Task) { tasks[t.Name] = t }}
		s := openMemory(t, o)
		set := func(key string) uint64 {
			return all(s, 1, func(tx *Tx) { tx.SetString([]byte(key), []byte(key), NoExpiry) })
		}
		durable := make(chan error, 1) // what the waiting writer was told
		lsn := set("a")
		go func() { durable <- s.commits.WaitDurable(lsn) }()
		synctest.Wait()
		if got := s.commits.Synced(); got >= lsn || len(durable) > 0 {
			t.Fatalf("synced up to %d without a step", got)
		}
		tasks["commit"].Step(false)
		if err := <-durable; err != nil {
			t.Fatalf("WaitDurable after the step: %v", err)
		}
		// A pass waits for the journal, and is waited for.
		set("b")
		s.writer.Starve()
		passed := make(chan struct{})
		go func() {
			tasks["materialise"].Step(true)
			close(passed)
		}()
		synctest.Wait()
		if got := s.writer.Values.Load(); s.passes.Trimmed.Load() != 0 || got == 0 {
			t.Fatalf("encoded %d values, trimmed up to %d, without the journal", got, s.passes.Trimmed.Load())
		}
		set("c")
		closed := make(chan error, 1)
		go func() { closed <- s.Close() }()
		if err := <-closed; err != nil {
			t.Fatalf("Close: %v", err)
		}
		<-passed
		for _, task := range tasks {
			task.Step(true) // does nothing any more
		}
	})
}

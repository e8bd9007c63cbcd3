package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/vigildb/vigil/server"
)

// testClock is the server's: it stands still until a test moves it. What the server
// does at a time of its own is not needed here.
type testClock struct{ millis atomic.Int64 }

func (c *testClock) Now() time.Time                             { return time.UnixMilli(c.millis.Load()) }
func (c *testClock) Since(t time.Time) time.Duration            { return c.Now().Sub(t) }
func (c *testClock) AfterFunc(time.Duration, func()) (_ func()) { return func() {} }
func (c *testClock) advance(d time.Duration)                    { c.millis.Add(d.Milliseconds()) }

// queue is an empty queue on a server of its own.
func queue(t *testing.T, clock server.Clock) *Queue {
	t.Helper()
	addr, stop, err := startServerAt(clock)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	t.Cleanup(func() {
		rdb.Close()
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	q := &Queue{Redis: rdb, Prefix: "q", Lease: time.Hour, Tries: 3, Batch: 5, Wait: -1}
	if err := q.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	return q
}

// still is a queue whose time stands still.
func still(t *testing.T) (*Queue, *testClock) {
	t.Helper()
	clock := &testClock{}
	clock.advance(1e6 * time.Second)
	return queue(t, clock), clock
}

// worker notes the bodies of the jobs that it does, and fails for those that begin
// with "bad".
func worker(q *Queue, name string) (*Worker, *[]string) {
	var did []string
	return &Worker{Queue: q, Name: name, Log: slog.New(slog.DiscardHandler), Handle: func(_ context.Context, j Job) error {
		did = append(did, j.Body)
		if strings.HasPrefix(j.Body, "bad") {
			return errors.New(j.Body)
		}
		return nil
	}}, &did
}

func add(t *testing.T, q *Queue, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		if _, err := q.Add(t.Context(), "mail", body); err != nil {
			t.Fatal(err)
		}
	}
}

func turn(t *testing.T, w *Worker, want int) {
	t.Helper()
	if done, err := w.Turn(t.Context()); err != nil || done != want {
		t.Fatalf("the turn of %s: %d jobs, %v; want %d", w.Name, done, err, want)
	}
}

func wantCounts(t *testing.T, q *Queue, want Counts) {
	t.Helper()
	if got, err := q.Counts(t.Context()); err != nil || got != want {
		t.Errorf("counts: %+v, %v; want %+v", got, err, want)
	}
}

func wantDid(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Errorf("did %q, want %q", got, want)
	}
}

func TestJobsAreDoneInOrderAndLeaveTheStream(t *testing.T) {
	q, _ := still(t)
	add(t, q, "1", "2", "3", "4", "5", "6", "7")
	w, did := worker(q, "w")
	wantCounts(t, q, Counts{Open: 7})
	turn(t, w, 5)
	turn(t, w, 2)
	turn(t, w, 0)
	wantDid(t, *did, "1", "2", "3", "4", "5", "6", "7")
	wantCounts(t, q, Counts{})
}

func TestJobsWaitForTheFirstWorker(t *testing.T) {
	q, _ := still(t)
	if err := q.Redis.Del(t.Context(), q.jobs()).Err(); err != nil {
		t.Fatal(err)
	}
	add(t, q, "early")
	for range 2 { // opening again changes nothing
		if err := q.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w, did := worker(q, "w")
	turn(t, w, 1)
	wantDid(t, *did, "early")
}

func TestJobOfACrashedWorkerIsDoneByAnother(t *testing.T) {
	q, clock := still(t)
	add(t, q, "1", "2")
	crashed, _ := worker(q, "crashed")
	if jobs, err := crashed.take(t.Context()); err != nil || len(jobs) != 2 {
		t.Fatalf("taken: %v, %v; want two jobs", jobs, err)
	}
	w, did := worker(q, "w")
	clock.advance(q.Lease - time.Second)
	turn(t, w, 0)
	wantCounts(t, q, Counts{Open: 2, Taken: 2})
	clock.advance(time.Second)
	turn(t, w, 2)
	wantDid(t, *did, "1", "2")
	wantCounts(t, q, Counts{})
}

func TestOneOfManyTakesAJobOver(t *testing.T) {
	q, clock := still(t)
	q.Batch = 50
	for i := range 50 {
		add(t, q, fmt.Sprint(i))
	}
	crashed, _ := worker(q, "crashed")
	if _, err := crashed.take(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock.advance(q.Lease)
	var taken atomic.Int64
	var running sync.WaitGroup
	for i := range 8 {
		w, _ := worker(q, fmt.Sprint("w", i))
		running.Go(func() {
			jobs, err := w.takeOver(t.Context())
			if err != nil {
				t.Error(err)
			}
			taken.Add(int64(len(jobs)))
		})
	}
	running.Wait()
	if n := taken.Load(); n != 50 {
		t.Errorf("8 workers took over %d jobs, want 50", n)
	}
}

func TestFailingJobIsTriedThriceThenBuried(t *testing.T) {
	q, clock := still(t)
	add(t, q, "bad", "good")
	w, did := worker(q, "w")
	turn(t, w, 1)
	for range 4 {
		turn(t, w, 0) // its lease is not over
		clock.advance(q.Lease)
		turn(t, w, 0)
	}
	wantDid(t, *did, "bad", "good", "bad", "bad")
	wantCounts(t, q, Counts{Dead: 1})
	dead := q.Redis.XRange(t.Context(), q.dead(), "-", "+").Val()
	if len(dead) != 1 || dead[0].Values["body"] != "bad" || dead[0].Values["kind"] != "mail" || dead[0].Values["tries"] != "3" {
		t.Fatalf("dead: %v", dead)
	}
	for _, want := range []bool{true, false} {
		if again, err := q.Retry(t.Context(), dead[0].ID); err != nil || again != want {
			t.Errorf("retry: %v, %v; want %v", again, err, want)
		}
	}
	wantCounts(t, q, Counts{Open: 1})
	turn(t, w, 0)
	wantDid(t, *did, "bad", "good", "bad", "bad", "bad")
}

func TestPanicIsAFailure(t *testing.T) {
	q, _ := still(t)
	add(t, q, "1", "2")
	w, _ := worker(q, "w")
	w.Handle = func(_ context.Context, j Job) error {
		if j.Body == "1" {
			panic("a bug")
		}
		return nil
	}
	turn(t, w, 1)
	wantCounts(t, q, Counts{Open: 1, Taken: 1})
}

func TestJobForLaterWaitsForItsTime(t *testing.T) {
	q, clock := still(t)
	w, did := worker(q, "w")
	for _, ticket := range []string{"a", "a", "b"} { // the second one is the first
		if err := q.AddLater(t.Context(), ticket, "mail", "later", time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	clock.advance(time.Minute - time.Millisecond)
	turn(t, w, 0)
	wantCounts(t, q, Counts{Later: 2})
	clock.advance(time.Millisecond)
	turn(t, w, 2)
	wantDid(t, *did, "later", "later")
	wantCounts(t, q, Counts{})
}

func TestStoppedWorkerLeavesItsJobsToOthers(t *testing.T) {
	q, clock := still(t)
	add(t, q, "1", "2", "3")
	ctx, cancel := context.WithCancel(t.Context())
	stopped, did := worker(q, "stopped")
	note := stopped.Handle
	stopped.Handle = func(ctx context.Context, j Job) error { cancel(); return note(ctx, j) }
	if done, err := stopped.Turn(ctx); done != 1 || !errors.Is(err, context.Canceled) {
		t.Fatalf("the turn: %d jobs, %v; want one and the end of the context", done, err)
	}
	wantDid(t, *did, "1")
	wantCounts(t, q, Counts{Open: 2, Taken: 2})
	clock.advance(q.Lease)
	w, did := worker(q, "w")
	turn(t, w, 2)
	wantDid(t, *did, "2", "3")
}

// TestManyWorkersDoEachJobOnce starts workers that wait for jobs, which come meanwhile.
func TestManyWorkersDoEachJobOnce(t *testing.T) {
	const jobs = 300
	q := queue(t, server.SystemClock{})
	q.Wait = 20 * time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	did := make(chan string, jobs+1)
	for i := range 4 {
		w := &Worker{Queue: q, Name: fmt.Sprint("w", i), Log: slog.New(slog.DiscardHandler),
			Handle: func(_ context.Context, j Job) error { did <- j.Body; return nil }}
		running.Go(func() { w.Run(ctx) })
	}
	for i := range jobs {
		add(t, q, fmt.Sprint(i))
	}
	seen := map[string]int{}
	for range jobs {
		seen[<-did]++
	}
	cancel()
	running.Wait()
	if len(seen) != jobs || len(did) > 0 {
		t.Errorf("%d of %d jobs were done, %d twice or later", len(seen), jobs, jobs-len(seen)+len(did))
	}
	wantCounts(t, q, Counts{})
}

func TestProgramFinishesItsJobs(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, "", 100, 3); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), " 0 are open") {
		t.Errorf("the program: %s", &out)
	}
}

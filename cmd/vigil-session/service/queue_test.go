package service

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/vigildb/vigil/cmd/vigil-session/wire"
)

func of(session, id string) message {
	return message{Request: wire.Request{Command: wire.Combo, Session: session, ID: id}}
}

func TestFloodDelaysOthersByOneRequest(t *testing.T) {
	q := newQueue(100, 60)
	for i := range 60 {
		if err := q.push(of("flood", fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.push(of("flood", "60")); !errors.Is(err, errFlood) {
		t.Errorf("request 61 of a session that may have 60: got %v", err)
	}
	for i := range 3 {
		if err := q.push(of(fmt.Sprint("guest", i), "0")); err != nil {
			t.Fatal(err)
		}
	}
	batch, _ := q.take(nil, 4, false)
	for i, want := range []string{"flood", "guest0", "guest1", "guest2"} {
		if batch[i].Session != want {
			t.Errorf("place %d: got %s, want %s", i, batch[i].Session, want)
		}
	}
}

// TestRequestThatFillsTheQueueWakesItsWorker makes a worker wait for the only request
// that there is room for.
func TestRequestThatFillsTheQueueWakesItsWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, 1)
		taken := make(chan int, 1) // the one answer
		go func() {
			batch, _ := q.take(nil, 1, true)
			taken <- len(batch)
		}()
		synctest.Wait()
		if err := q.push(of("s", "r")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		select {
		case n := <-taken:
			if n != 1 {
				t.Errorf("got %d requests, want 1", n)
			}
		default:
			t.Error("the worker still waits")
			q.close()
		}
	})
}

func TestQueueKeepsTheOrderOfEachSessionAndItsBounds(t *testing.T) {
	const limit, perSession, sessions = 50, 8, 12
	seed := rand.Uint64()
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	q := newQueue(limit, perSession)
	pushed, taken := [sessions][]string{}, [sessions]int{}
	waiting := func(s int) int { return len(pushed[s]) - taken[s] }
	total, full, flood := 0, 0, 0
	for step := range 20000 {
		if rng.IntN(9) > 0 {
			s := min(rng.IntN(sessions), rng.IntN(sessions))
			id := fmt.Sprint(step)
			switch err := q.push(of(fmt.Sprint(s), id)); {
			case total == limit:
				if full++; !errors.Is(err, errFull) {
					t.Fatalf("step %d: got %v, want errFull", step, err)
				}
			case waiting(s) == perSession:
				if flood++; !errors.Is(err, errFlood) {
					t.Fatalf("step %d: got %v, want errFlood", step, err)
				}
			case err != nil:
				t.Fatalf("step %d: got %v with %d waiting, %d of the session", step, err, total, waiting(s))
			default:
				pushed[s] = append(pushed[s], id)
				total++
			}
		} else {
			most := 1 + rng.IntN(20)
			batch, _ := q.take(nil, most, false)
			if len(batch) != min(most, total) {
				t.Fatalf("step %d: took %d of %d, want %d", step, len(batch), total, min(most, total))
			}
			total -= len(batch)
			for _, m := range batch {
				var s int
				fmt.Sscan(m.Session, &s)
				if want := pushed[s][taken[s]]; m.ID != want {
					t.Fatalf("step %d: session %d: got %s, want %s", step, s, m.ID, want)
				}
				taken[s]++
			}
		}
		if q.length() != total {
			t.Fatalf("step %d: length %d, want %d", step, q.length(), total)
		}
	}
	if full < 50 || flood < 50 {
		t.Errorf("bounds were met %d and %d times: too few to test them", full, flood)
	}
}

func TestClosedQueueIsEmptiedFirst(t *testing.T) {
	q := newQueue(10, 10)
	_ = q.push(of("s", "1"))
	q.close()
	if batch, more := q.take(nil, 5, true); len(batch) != 1 || more {
		t.Errorf("got %d, more %t; want the one that waits, and no more", len(batch), more)
	}
	if batch, more := q.take(nil, 5, true); len(batch) != 0 || more {
		t.Errorf("got %d, more %t; want the end", len(batch), more)
	}
}

package expiry

import (
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/persistence/format"
)

func TestListsAreFewAndInTime(t *testing.T) {
	const seed = 4
	r := rand.New(rand.NewPCG(seed, 0))
	lists := map[int64]bool{}
	for range 100_000 {
		now := r.Int64N(1 << 41)
		expire := now + r.Int64N(1<<r.IntN(62))
		if r.IntN(10) == 0 {
			expire = r.Int64N(now + 1)
		}
		at := listTime(now, expire)
		switch left := expire - now; {
		case at > max(expire, now)+format.ExpiryTick:
			t.Fatalf("seed %d: at %d, expiry %d is listed at %d: late", seed, now, expire, at)
		case at <= now:
			t.Fatalf("seed %d: at %d, expiry %d is listed at %d, which is over", seed, now, expire, at)
		case at < expire && expire-at > left/spread:
			t.Fatalf("seed %d: at %d, expiry %d is listed at %d: too early", seed, now, expire, at)
		}
		lists[listTime(1<<40, 1<<40+(expire-now))] = true
	}
	if len(lists) > 2000 {
		t.Errorf("seed %d: %d lists for expiries of all distances", seed, len(lists))
	}
}

// Lists that are written while the clock is set may be due before what was read, so that is not kept.
func TestClockIsNotSetPastListsThatCameMeanwhile(t *testing.T) {
	var c Clock
	_, mark := c.Due(1, 0)
	c.Set(1, 100, mark)
	if due, _ := c.Due(1, 99); due {
		t.Error("due before the next list")
	}
	if due, _ := c.Due(2, 0); !due {
		t.Error("nothing is known of another database, and it is not looked at")
	}
	_, mark = c.Due(1, 100)
	c.Note([]List{{phys: 1, at: 50}})
	c.Set(1, 200, mark)
	if due, _ := c.Due(1, 50); !due {
		t.Error("a list that came meanwhile is forgotten")
	}
	c.Forget([]uint32{1})
	if due, _ := c.Due(1, 0); !due {
		t.Error("a removed database is still known")
	}
}

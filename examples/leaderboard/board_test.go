package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

var sunday = time.Date(2026, 3, 15, 22, 0, 0, 0, time.UTC)

// board is an empty board on a server of its own. Weeks are compared with the
// server's clock, so games are played lately.
func board(t *testing.T) *Board {
	t.Helper()
	addr, stop, err := startServer()
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
	return &Board{Redis: rdb, Prefix: "game", Weeks: 2}
}

func play(t *testing.T, b *Board, at time.Time, points map[string]float64) {
	t.Helper()
	for player, n := range points {
		if _, err := b.Score(t.Context(), player, n, at); err != nil {
			t.Fatal(err)
		}
	}
}

func wantLines(t *testing.T, got []Entry, err error, want ...Entry) {
	t.Helper()
	if err != nil || len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
		t.Errorf("lines: %v, %v; want %v", got, err, want)
	}
}

func TestEqualPointsShareAPlace(t *testing.T) {
	b := board(t)
	play(t, b, time.Now(), map[string]float64{"ann": 30, "bob": 20, "cid": 20, "dot": 20, "eve": 10, "fay": 5})
	top, err := b.Top(t.Context(), 5)
	wantLines(t, top, err, Entry{1, "ann", 30}, Entry{2, "dot", 20}, Entry{2, "cid", 20}, Entry{2, "bob", 20}, Entry{5, "eve", 10})
	near, err := b.Around(t.Context(), "bob", 1)
	wantLines(t, near, err, Entry{2, "cid", 20}, Entry{2, "bob", 20}, Entry{5, "eve", 10})
	near, err = b.Around(t.Context(), "ann", 1)
	wantLines(t, near, err, Entry{1, "ann", 30}, Entry{2, "dot", 20})
	near, err = b.Around(t.Context(), "fay", 0)
	wantLines(t, near, err, Entry{6, "fay", 5})
}

func TestPlayerWithoutPointsHasNoPlace(t *testing.T) {
	b := board(t)
	if near, err := b.Around(t.Context(), "nobody", 3); !errors.Is(err, ErrNoPlayer) {
		t.Errorf("around nobody: %v, %v; want ErrNoPlayer", near, err)
	}
	top, err := b.Top(t.Context(), 3)
	wantLines(t, top, err)
	top, err = b.Lately(t.Context(), time.Now(), 3)
	wantLines(t, top, err)
}

func TestWeeksAddUpAndExpire(t *testing.T) {
	b := board(t)
	now := time.Now()
	play(t, b, now, map[string]float64{"ann": 1, "bob": 5})
	play(t, b, now.AddDate(0, 0, -7), map[string]float64{"ann": 6})
	play(t, b, now.AddDate(0, 0, -14), map[string]float64{"bob": 50})
	play(t, b, now.AddDate(0, 0, -21), map[string]float64{"cid": 90})
	lately, err := b.Lately(t.Context(), now, 9)
	wantLines(t, lately, err, Entry{1, "ann", 7}, Entry{2, "bob", 5})
	top, err := b.Top(t.Context(), 9)
	wantLines(t, top, err, Entry{1, "cid", 90}, Entry{2, "bob", 55}, Entry{3, "ann", 7})
	keys, err := b.Redis.Keys(t.Context(), "{game}:*W*").Result()
	if err != nil || len(keys) != 3 {
		t.Errorf("weeks: %v, %v; want three: that of three weeks ago has expired", keys, err)
	}
	if ttl := b.Redis.TTL(t.Context(), b.all()).Val(); ttl != -1 {
		t.Errorf("the board of all time expires in %v", ttl)
	}
}

func TestWeeksAreThoseOfISO8601(t *testing.T) {
	b := &Board{Prefix: "game"}
	for at, want := range map[time.Time]string{
		sunday:                    "{game}:2026-W11",
		sunday.Add(2 * time.Hour): "{game}:2026-W12",
		time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC):                   "{game}:2026-W53",
		time.Date(2027, 1, 4, 1, 0, 0, 0, time.FixedZone("", 2*3600)): "{game}:2026-W53",
	} {
		if got := b.week(at); got != want {
			t.Errorf("week of %v: %s, want %s", at, got, want)
		}
	}
}

func TestRemovedPlayerIsOnNoBoard(t *testing.T) {
	b := board(t)
	now := time.Now()
	for i := range 3 {
		play(t, b, now.AddDate(0, 0, -7*i), map[string]float64{"ann": 1})
	}
	if err := b.Remove(t.Context(), "ann", now); err != nil {
		t.Fatal(err)
	}
	if n := b.Redis.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d boards are left", n)
	}
}

func TestRefusedPointsChangeNothing(t *testing.T) {
	b := board(t)
	if _, err := b.Score(t.Context(), "ann", math.NaN(), time.Now()); err == nil {
		t.Error("NaN points were counted")
	}
	if n := b.Redis.ZCard(t.Context(), b.all()).Val(); n != 0 {
		t.Errorf("%d players have points", n)
	}
}

// TestBoardAgreesWithASortedList plays at random and compares each view.
func TestBoardAgreesWithASortedList(t *testing.T) {
	b := board(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	points := map[string]float64{}
	for range 300 {
		player, n := fmt.Sprint("p", rng.IntN(40)), float64(rng.IntN(4))
		points[player] += n
		if got, err := b.Score(t.Context(), player, n, time.Now()); err != nil || got != points[player] {
			t.Fatalf("%s has %v, %v; want %v", player, got, err, points[player])
		}
	}
	var want []Entry
	for player, n := range points {
		place := int64(1)
		for _, m := range points {
			if m > n {
				place++
			}
		}
		want = append(want, Entry{place, player, n})
	}
	slices.SortFunc(want, func(x, y Entry) int {
		return cmp.Or(cmp.Compare(y.Points, x.Points), cmp.Compare(y.Player, x.Player))
	})
	top, err := b.Top(t.Context(), 100)
	wantLines(t, top, err, want...)
	lately, err := b.Lately(t.Context(), time.Now(), 7)
	wantLines(t, lately, err, want[:7]...)
	for i, e := range want {
		near, err := b.Around(t.Context(), e.Player, 3)
		wantLines(t, near, err, want[max(i-3, 0):min(i+4, len(want))]...)
	}
}

func TestProgramShowsThreeBoards(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, "", 50, 300); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "player-"); n != 16 { // 5, 5, 5 and a title
		t.Errorf("the program shows %d players, want 16:\n%s", n, &out)
	}
}

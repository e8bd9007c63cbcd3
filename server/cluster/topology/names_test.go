package topology

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// bookOf returns the book of a server whose directory was started so often, and what sets its names.
func bookOf(s server, starts uint64) (b *nameBook, set func(Names)) {
	var now atomic.Pointer[Names]
	now.Store(new(Names))
	b = newNameBook(&Identity{Name: s.Group, Member: s.Member, Starts: starts}, func() Names { return *now.Load() })
	return b, func(n Names) { now.Store(&n); b.look() }
}

func mustTake(t *testing.T, b *nameBook, text []byte, there map[server]string) {
	t.Helper()
	if err := b.take(text, there); err != nil {
		t.Fatal(err)
	}
}

// Whatever the order in which servers tell each other, rename themselves and start again, in the end all know the present names of
// those that are there, and no others.
func TestServersAgreeOnTheNamesOfAll(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	lot := rand.New(rand.NewPCG(seed, 1))
	all := map[server]string{{"a", 1}: "h:1", {"a", 2}: "h:2", {"b", 1}: "h:3", {"", 1}: "h:4"}
	books, set, starts := map[server]*nameBook{}, map[server]func(Names){}, map[server]uint64{}
	begin := func(s server) {
		starts[s]++
		books[s], set[s] = bookOf(s, starts[s])
	}
	names := slices.Collect(func(yield func(server) bool) {
		for s := range all {
			if !yield(s) {
				return
			}
		}
	})
	want := map[server]Names{}
	for _, s := range names {
		begin(s)
	}
	rename := func(s server) {
		n := Names{[]string{"", "x.example", "y.example"}[lot.IntN(3)], []string{"", "frank"}[lot.IntN(2)], []string{"", "a", "b"}[lot.IntN(3)]}
		set[s](n)
		if delete(want, s); n != (Names{}) {
			want[s] = n
		}
	}
	exchange := func(a, b server) {
		mustTake(t, books[b], books[a].encode(), all)
		mustTake(t, books[a], books[b].encode(), all)
	}
	for range 500 {
		s := names[lot.IntN(len(names))]
		switch lot.IntN(4) {
		case 0:
			rename(s)
		case 1:
			begin(s)
			delete(want, s)
			if lot.IntN(2) == 0 {
				rename(s)
			}
		default:
			exchange(s, names[lot.IntN(len(names))])
		}
	}
	for range 2 {
		for _, a := range names {
			for _, b := range names {
				exchange(a, b)
			}
		}
	}
	for s, b := range books {
		if got := b.look().of; !reflect.DeepEqual(got, want) {
			t.Errorf("%v knows %v, want %v", s, got, want)
		}
	}
	left := names[0]
	delete(all, left)
	delete(want, left)
	exchange(names[1], names[2])
	if got := books[names[1]].look().of; !reflect.DeepEqual(got, want) {
		t.Errorf("after %v has left: %v, want %v", left, got, want)
	}
}

// The present names of a server count although its directory was started more often in a former life.
func TestNamesOfAFormerLifeGiveWay(t *testing.T) {
	self, there := server{"a", 1}, map[server]string{{"a", 1}: "h:1", {"b", 1}: "h:2"}
	former, set := bookOf(self, 9)
	set(Names{Hostname: "former.example"})
	b, _ := bookOf(server{"b", 1}, 1)
	mustTake(t, b, former.encode(), there)
	present, set := bookOf(self, 2)
	set(Names{Hostname: "present.example"})
	mustTake(t, present, b.encode(), there)
	if told := present.due(0, there); len(told) != len(there) {
		t.Errorf("the others are told later: %v", told)
	}
	mustTake(t, b, present.encode(), there)
	if got := b.look().Of("a", 1).Hostname; got != "present.example" {
		t.Errorf("known is %q", got)
	}
}

// Servers that have no names, and know of none, ask others once.
func TestServersWithoutNamesAskOnce(t *testing.T) {
	there := map[server]string{{"a", 2}: "h:1", {"b", 1}: "h:2"}
	b, set := bookOf(server{"a", 1}, 1)
	if got := b.due(0, nil); len(got) != 0 {
		t.Errorf("alone it asks %v", got)
	}
	if got := b.due(0, there); len(got) != 1 {
		t.Errorf("it asks %v", got)
	}
	if got := b.due(exchangePeriod/2, there); len(got) != 0 {
		t.Errorf("half a period later it asks %v", got)
	}
	if got := b.due(exchangePeriod, there); len(got) != 1 {
		t.Errorf("without a reply it asks %v", got)
	}
	silent, _ := bookOf(server{"b", 1}, 1)
	mustTake(t, b, silent.encode(), there)
	if got := b.due(time.Hour, there); len(got) != 0 {
		t.Errorf("after a reply it asks %v", got)
	}
	set(Names{Hostname: "x.example"})
	if got := b.due(time.Hour, there); len(got) != len(there) {
		t.Errorf("of a new name it tells %v", got)
	}
	if got := b.due(time.Hour, there); len(got) != 0 {
		t.Errorf("at once again it tells %v", got)
	}
	if got := b.due(time.Hour+exchangePeriod, there); len(got) != 1 {
		t.Errorf("a period later it tells %v", got)
	}
}

// A server of an earlier version keeps announcements without zones and passes them on so. Those who hear of a
// server from it first learn of the zone later.
func TestZonesComeBehindAnnouncementsWithoutThem(t *testing.T) {
	self, there := server{"a", 1}, map[server]string{{"a", 1}: "h:1", {"a", 2}: "h:2", {"b", 1}: "h:3"}
	b, set := bookOf(self, 1)
	set(Names{Hostname: "x.example", Zone: "east"})
	earlier, _ := bookOf(server{"a", 2}, 1)
	earlier.of[self] = announcement{b.of[self].count, Names{Hostname: "x.example"}}
	later, _ := bookOf(server{"b", 1}, 1)
	mustTake(t, later, earlier.encode(), there)
	if got := later.look().Of("a", 1); got != (Names{Hostname: "x.example"}) {
		t.Fatalf("known is %+v", got)
	}
	for _, from := range []*nameBook{b, earlier} {
		mustTake(t, later, from.encode(), there)
		if got := later.look().Of("a", 1); got != (Names{Hostname: "x.example", Zone: "east"}) {
			t.Errorf("known is %+v", got)
		}
	}
	set(Names{Hostname: "x.example"})
	mustTake(t, later, b.encode(), there)
	if got := later.look().Of("a", 1); got != (Names{Hostname: "x.example"}) {
		t.Errorf("after the zone was taken away: %+v", got)
	}
}

// A zone stands behind the other names of its server.
func TestZoneOfNobodyIsRefused(t *testing.T) {
	for what, text := range map[string][]byte{
		"of nobody": appendAnnouncement([]byte{announcementsFormat}, server{"a", zoneOf + 1}, 1, "east", ""),
		"empty":     appendAnnouncement(appendAnnouncement([]byte{announcementsFormat}, server{"a", 1}, 1, "", ""), server{"a", zoneOf + 1}, 1, "", ""),
	} {
		if got, err := decodeAnnouncements(text); err == nil {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// Announcements that do not decode change nothing.
func TestDamagedAnnouncementsAreRefused(t *testing.T) {
	b, set := bookOf(server{"a", 1}, 1)
	set(Names{Hostname: "x.example", Nodename: "frank"})
	whole := b.encode()
	long, setLong := bookOf(server{"b", 1}, 1)
	setLong(Names{Hostname: strings.Repeat("x", maxHostname+1)})
	other, _ := bookOf(server{"c", 1}, 1)
	before := other.encode()
	for what, text := range map[string][]byte{"nothing": nil, "another format": slices.Concat([]byte{9}, whole[1:]), "a part": whole[:len(whole)-1], "a long name": long.encode()} {
		if err := other.take(text, map[server]string{{"a", 1}: "h:1"}); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	if got := other.encode(); !slices.Equal(got, before) {
		t.Errorf("known is %q, before %q", got, before)
	}
}

// Whatever comes as announcements is refused, or read as some that are written again alike.
func FuzzAnnouncementsAreReadOrRefused(f *testing.F) {
	b, set := bookOf(server{"a", 1}, 1)
	f.Add(b.encode())
	set(Names{Hostname: "x.example", Nodename: "frank"})
	f.Add(b.encode())
	f.Add([]byte{announcementsFormat, 1, 'b', 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0, 0})
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := decodeAnnouncements(text)
		if err != nil || len(text) > maxAnnouncements/2 {
			return
		}
		all := map[server]string{}
		for s := range got {
			all[s] = "h:1"
		}
		b, _ := bookOf(server{"self", 1}, 1)
		mustTake(t, b, text, all)
		again, err := decodeAnnouncements(b.encode())
		delete(again, b.self)
		delete(got, b.self)
		for s, a := range got {
			if a.count == 0 { // nobody announces that
				delete(got, s)
			}
		}
		if err != nil || !reflect.DeepEqual(got, again) {
			t.Errorf("%v and %v, %v", got, again, err)
		}
	})
}

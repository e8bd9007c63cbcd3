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
func bookOf(s Server, starts uint64) (b *NameBook, set func(Names)) {
	var now atomic.Pointer[Names]
	now.Store(new(Names))
	b = NewNameBook(&Identity{Name: s.Group, Member: s.Member, Starts: starts}, func() Names { return *now.Load() })
	return b, func(n Names) { now.Store(&n); b.Look() }
}

func mustTake(t *testing.T, b *NameBook, text []byte, there map[Server]string) {
	t.Helper()
	if err := b.Take(text, there); err != nil {
		t.Fatal(err)
	}
}

// Whatever the order in which servers tell each other, rename themselves and start again, in the end all know the present names of
// those that are there, and no others.
func TestServersAgreeOnTheNamesOfAll(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	lot := rand.New(rand.NewPCG(seed, 1))
	all := map[Server]string{{"a", 1}: "h:1", {"a", 2}: "h:2", {"b", 1}: "h:3", {"", 1}: "h:4"}
	books, set, starts := map[Server]*NameBook{}, map[Server]func(Names){}, map[Server]uint64{}
	begin := func(s Server) {
		starts[s]++
		books[s], set[s] = bookOf(s, starts[s])
	}
	names := slices.Collect(func(yield func(Server) bool) {
		for s := range all {
			if !yield(s) {
				return
			}
		}
	})
	want := map[Server]Names{}
	for _, s := range names {
		begin(s)
	}
	rename := func(s Server) {
		n := Names{[]string{"", "x.example", "y.example"}[lot.IntN(3)], []string{"", "frank"}[lot.IntN(2)], []string{"", "a", "b"}[lot.IntN(3)]}
		set[s](n)
		if delete(want, s); n != (Names{}) {
			want[s] = n
		}
	}
	exchange := func(a, b Server) {
		mustTake(t, books[b], books[a].Encode(), all)
		mustTake(t, books[a], books[b].Encode(), all)
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
		if got := b.Look().of; !reflect.DeepEqual(got, want) {
			t.Errorf("%v knows %v, want %v", s, got, want)
		}
	}
	left := names[0]
	delete(all, left)
	delete(want, left)
	exchange(names[1], names[2])
	if got := books[names[1]].Look().of; !reflect.DeepEqual(got, want) {
		t.Errorf("after %v has left: %v, want %v", left, got, want)
	}
}

// A server whose directory was started more often in a former life still has its present names told.
func TestNamesOfAFormerLifeGiveWay(t *testing.T) {
	self, there := Server{"a", 1}, map[Server]string{{"a", 1}: "h:1", {"b", 1}: "h:2"}
	former, set := bookOf(self, 9)
	set(Names{Hostname: "former.example"})
	b, _ := bookOf(Server{"b", 1}, 1)
	mustTake(t, b, former.Encode(), there)
	present, set := bookOf(self, 2)
	set(Names{Hostname: "present.example"})
	mustTake(t, present, b.Encode(), there)
	if told := present.Due(0, there); len(told) != len(there) {
		t.Errorf("the others are told later: %v", told)
	}
	mustTake(t, b, present.Encode(), there)
	if got := b.Look().Of("a", 1).Hostname; got != "present.example" {
		t.Errorf("known is %q", got)
	}
}

// Servers that have no names, and know of none, ask others once.
func TestServersWithoutNamesAskOnce(t *testing.T) {
	there := map[Server]string{{"a", 2}: "h:1", {"b", 1}: "h:2"}
	b, set := bookOf(Server{"a", 1}, 1)
	if got := b.Due(0, nil); len(got) != 0 {
		t.Errorf("alone it asks %v", got)
	}
	if got := b.Due(0, there); len(got) != 1 {
		t.Errorf("it asks %v", got)
	}
	if got := b.Due(ExchangePeriod/2, there); len(got) != 0 {
		t.Errorf("half a period later it asks %v", got)
	}
	if got := b.Due(ExchangePeriod, there); len(got) != 1 {
		t.Errorf("without a reply it asks %v", got)
	}
	silent, _ := bookOf(Server{"b", 1}, 1)
	mustTake(t, b, silent.Encode(), there)
	if got := b.Due(time.Hour, there); len(got) != 0 {
		t.Errorf("after a reply it asks %v", got)
	}
	set(Names{Hostname: "x.example"})
	if got := b.Due(time.Hour, there); len(got) != len(there) {
		t.Errorf("of a new name it tells %v", got)
	}
	if got := b.Due(time.Hour, there); len(got) != 0 {
		t.Errorf("at once again it tells %v", got)
	}
	if got := b.Due(time.Hour+ExchangePeriod, there); len(got) != 1 {
		t.Errorf("a period later it tells %v", got)
	}
}

// A server of an earlier version keeps announcements without zones and passes them on so. Those who hear of a
// server from it first learn of the zone later.
func TestZonesComeBehindAnnouncementsWithoutThem(t *testing.T) {
	self, there := Server{"a", 1}, map[Server]string{{"a", 1}: "h:1", {"a", 2}: "h:2", {"b", 1}: "h:3"}
	b, set := bookOf(self, 1)
	set(Names{Hostname: "x.example", Zone: "east"})
	earlier, _ := bookOf(Server{"a", 2}, 1)
	earlier.of[self] = announcement{b.of[self].count, Names{Hostname: "x.example"}}
	later, _ := bookOf(Server{"b", 1}, 1)
	mustTake(t, later, earlier.Encode(), there)
	if got := later.Look().Of("a", 1); got != (Names{Hostname: "x.example"}) {
		t.Fatalf("known is %+v", got)
	}
	for _, from := range []*NameBook{b, earlier} {
		mustTake(t, later, from.Encode(), there)
		if got := later.Look().Of("a", 1); got != (Names{Hostname: "x.example", Zone: "east"}) {
			t.Errorf("known is %+v", got)
		}
	}
	set(Names{Hostname: "x.example"})
	mustTake(t, later, b.Encode(), there)
	if got := later.Look().Of("a", 1); got != (Names{Hostname: "x.example"}) {
		t.Errorf("after the zone was taken away: %+v", got)
	}
}

// A zone stands behind the other names of its server.
func TestZoneOfNobodyIsRefused(t *testing.T) {
	for what, text := range map[string][]byte{
		"of nobody": appendAnnouncement([]byte{announcementsFormat}, Server{"a", zoneOf + 1}, 1, "east", ""),
		"empty":     appendAnnouncement(appendAnnouncement([]byte{announcementsFormat}, Server{"a", 1}, 1, "", ""), Server{"a", zoneOf + 1}, 1, "", ""),
	} {
		if got, err := decodeAnnouncements(text); err == nil {
			t.Errorf("%s: %v", what, got)
		}
	}
}

// Announcements that do not decode change nothing.
func TestDamagedAnnouncementsAreRefused(t *testing.T) {
	b, set := bookOf(Server{"a", 1}, 1)
	set(Names{Hostname: "x.example", Nodename: "frank"})
	whole := b.Encode()
	long, setLong := bookOf(Server{"b", 1}, 1)
	setLong(Names{Hostname: strings.Repeat("x", maxHostname+1)})
	other, _ := bookOf(Server{"c", 1}, 1)
	before := other.Encode()
	for what, text := range map[string][]byte{"nothing": nil, "another format": slices.Concat([]byte{9}, whole[1:]), "a part": whole[:len(whole)-1], "a long name": long.Encode()} {
		if err := other.Take(text, map[Server]string{{"a", 1}: "h:1"}); err == nil {
			t.Errorf("%s is taken", what)
		}
	}
	if got := other.Encode(); !slices.Equal(got, before) {
		t.Errorf("known is %q, before %q", got, before)
	}
}

// Whatever comes as announcements is refused, or read as some that are written again alike.
func FuzzAnnouncementsAreReadOrRefused(f *testing.F) {
	b, set := bookOf(Server{"a", 1}, 1)
	f.Add(b.Encode())
	set(Names{Hostname: "x.example", Nodename: "frank"})
	f.Add(b.Encode())
	f.Add([]byte{announcementsFormat, 1, 'b', 1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0, 0})
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := decodeAnnouncements(text)
		if err != nil || len(text) > maxAnnouncements/2 {
			return
		}
		all := map[Server]string{}
		for s := range got {
			all[s] = "h:1"
		}
		b, _ := bookOf(Server{"self", 1}, 1)
		mustTake(t, b, text, all)
		again, err := decodeAnnouncements(b.Encode())
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

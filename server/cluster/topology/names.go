package topology

import (
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// Servers announce names beside their addresses: the groups know nothing of them, and they may change at any time. Each server
// counts its announcements, keeps the newest one of each other server, and exchanges them with all when its own one
// changes, and with one by lot once a second. They are in memory only: a server that begins asks for them.

// Names are what a server announces beside its address; "" is none.
type Names struct {
	Hostname string // by which clients may reach it, see commands.EndpointHostname
	Nodename string // for people
	Zone     string // where it is, for clients that prefer a near one
}

// Announced are the known names of the servers of a cluster. They are never changed.
type Announced struct{ of map[server]Names }

// Of returns the names of a member of a group.
func (a *Announced) Of(group string, member uint64) Names {
	if a == nil {
		return Names{}
	}
	return a.of[server{group, member}]
}

// server is a member of one of the groups.
type server struct {
	Group  string
	Member uint64
}

// announcement is what a server has announced last. Later ones have a higher count, after restarts too.
type announcement struct {
	count uint64
	Names
}

// nameBook is the announcements that a server knows.
type nameBook struct {
	self   server
	starts uint64       // of this server
	config func() Names // of this server, nil for none

	mu     sync.Mutex
	of     map[server]announcement // guarded by mu
	untold bool                    // the own announcement is a new one; guarded by mu
	asked  bool                    // others have been asked for theirs; guarded by mu
	last   time.Duration           // when one was, by Now; guarded by mu
	shown  atomic.Pointer[Announced]
}

// newNameBook returns the book of a server, with the names of its configuration; nil for none.
func newNameBook(self *Identity, config func() Names) *nameBook {
	if config == nil {
		config = func() Names { return Names{} }
	}
	b := &nameBook{self: server{self.Name, self.Member}, starts: self.Starts, config: config, of: map[server]announcement{}, last: -exchangePeriod}
	b.look()
	return b
}

// announcedAtOnce is how often a server can change its names before its count is that of its next start.
const announcedAtOnce = 1 << 20

// look announces the names of the configuration, if they have changed.
func (b *nameBook) look() *Announced {
	now, shown := b.config(), b.shown.Load()
	if shown != nil && shown.of[b.self] == now {
		return shown
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if own := b.of[b.self]; own.count == 0 || own.Names != now {
		b.announceLocked(now, own.count)
	}
	return b.shown.Load()
}

// announceLocked announces names after count other announcements of this server.
func (b *nameBook) announceLocked(now Names, count uint64) {
	b.of[b.self] = announcement{max(count, b.starts*announcedAtOnce) + 1, now}
	b.untold = b.untold || now != Names{} || count > 0
	b.showLocked()
}

func (b *nameBook) showLocked() {
	a := &Announced{of: map[server]Names{}}
	for s, announced := range b.of {
		if announced.Names != (Names{}) {
			a.of[s] = announced.Names
		}
	}
	b.shown.Store(a)
}

// ripe reports whether any servers are to be told of the names now.
func (b *nameBook) ripe(now time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ripeLocked(now)
}

func (b *nameBook) ripeLocked(now time.Duration) bool {
	return b.untold || now-b.last >= exchangePeriod && (!b.asked || len(b.shown.Load().of) > 0)
}

// due returns which of the servers are to be told of the names now: all, one by lot, or none.
func (b *nameBook) due(now time.Duration, servers map[server]string) (told map[server]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(servers) == 0 || !b.ripeLocked(now) {
		return nil
	}
	b.last = now
	if !b.untold {
		return oneOf(servers)
	}
	b.untold, b.asked = false, true
	return servers
}

// Bounds of announcements. What has no room in a request goes with another one, as their order is by lot.
const (
	maxHostname      = 255
	maxNodename      = 255
	maxAnnouncements = 512 << 10 // bytes
)

// announcementsFormat is the first byte of announcements between servers. All numbers are uvarints, and a text has its
// length in front. Up to the end follow: group | member | count | hostname | nodename
//
// The zone of a member is the hostname of member zoneOf + member. Servers of earlier versions know of no such member and
// pass over it.
const (
	announcementsFormat = 1
	zoneOf              = 1 << 63
)

// encode returns the announcements, that of this server first.
func (b *nameBook) encode() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.appendLocked([]byte{announcementsFormat}, b.self)
	for s := range b.of {
		if s != b.self && len(out) < maxAnnouncements {
			out = b.appendLocked(out, s)
		}
	}
	return out
}

func (b *nameBook) appendLocked(out []byte, s server) []byte {
	a := b.of[s]
	out = appendAnnouncement(out, s, a.count, a.Hostname, a.Nodename)
	if a.Zone != "" {
		out = appendAnnouncement(out, server{s.Group, zoneOf + s.Member}, a.count, a.Zone, "")
	}
	return out
}

func appendAnnouncement(out []byte, s server, count uint64, hostname, nodename string) []byte {
	out = binary.AppendUvarint(binary.AppendUvarint(AppendText(out, s.Group), s.Member), count)
	return AppendText(AppendText(out, hostname), nodename)
}

var errNames = errors.New("cluster: names of servers do not decode")

// decodeAnnouncements reads what encode wrote.
func decodeAnnouncements(b []byte) (map[server]announcement, error) {
	if len(b) == 0 || b[0] != announcementsFormat {
		return nil, errNames
	}
	of := map[server]announcement{}
	for d := (Decoder{Rest: b[1:]}); len(d.Rest) > 0; {
		s := server{Group: d.Text(MaxGroupName), Member: d.Number()}
		a := announcement{count: d.Number(), Names: Names{Hostname: d.Text(maxHostname), Nodename: d.Text(maxNodename)}}
		if d.Err != nil || a.count > math.MaxInt64 {
			return nil, errNames
		}
		if s.Member >= zoneOf {
			s.Member -= zoneOf
			zone := a.Hostname
			if a = of[s]; zone == "" || a.count == 0 {
				return nil, errNames
			}
			a.Zone = zone
		}
		of[s] = a
	}
	return of, nil
}

// supersedes reports whether an announcement says more of a server than the one before: a later one, and the same one
// with a zone, which servers of earlier versions leave out as they pass it on.
func (a announcement) supersedes(before announcement) bool {
	return a.count > before.count || a.count == before.count && before.Zone == "" && a.Zone != ""
}

// take takes announcements of servers that are there, and forgets those of others.
func (b *nameBook) take(text []byte, there map[server]string) error {
	news, err := decodeAnnouncements(text)
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = true
	own := b.of[b.self]
	if told, more := news[b.self]; more && told.count >= own.count && told != own { // of a former life of the directory
		b.announceLocked(own.Names, told.count)
	}
	delete(news, b.self)
	before := maps.Clone(b.of)
	for s, a := range news {
		if there[s] != "" && a.supersedes(b.of[s]) {
			b.of[s] = a
		}
	}
	maps.DeleteFunc(b.of, func(s server, _ announcement) bool { return s != b.self && there[s] == "" })
	if !maps.Equal(before, b.of) {
		b.showLocked()
	}
	return nil
}

// oneOf returns one of some servers, by lot; none if there is none.
func oneOf(servers map[server]string) map[server]string {
	skip := rand.IntN(max(1, len(servers)))
	for s, address := range servers {
		if skip--; skip < 0 {
			return map[server]string{s: address}
		}
	}
	return nil
}

// exchangePeriod is how often a server exchanges what it knows with one other server by lot.
const exchangePeriod = time.Second

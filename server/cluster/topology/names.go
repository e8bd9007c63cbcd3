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

// Announced are the names of the servers of a cluster, as far as they are known. They are not changed any more.
type Announced struct{ of map[Server]Names }

// Of returns the names of a member of a group.
func (a *Announced) Of(group string, member uint64) Names {
	if a == nil {
		return Names{}
	}
	return a.of[Server{group, member}]
}

// Server is a member of one of the groups.
type Server struct {
	Group  string
	Member uint64
}

// announcement is what a server has announced last. Later ones have a higher count, after restarts too.
type announcement struct {
	count uint64
	Names
}

// NameBook is the announcements that a server knows.
type NameBook struct {
	self   Server
	starts uint64       // of this server
	config func() Names // of this server, nil for none

	mu     sync.Mutex
	of     map[Server]announcement // guarded by mu
	untold bool                    // the own announcement is a new one; guarded by mu
	asked  bool                    // others have been asked for theirs; guarded by mu
	last   time.Duration           // when one was, by Now; guarded by mu
	shown  atomic.Pointer[Announced]
}

// NewNameBook returns the book of a server, with the names of its configuration; nil for none.
func NewNameBook(self *Identity, config func() Names) *NameBook {
	if config == nil {
		config = func() Names { return Names{} }
	}
	b := &NameBook{self: Server{self.Name, self.Member}, starts: self.Starts, config: config, of: map[Server]announcement{}, last: -ExchangePeriod}
	b.Look()
	return b
}

// announcedAtOnce is how often a server can change its names before its count is that of its next start.
const announcedAtOnce = 1 << 20

// Look announces the names of the configuration, if they have changed.
func (b *NameBook) Look() *Announced {
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
func (b *NameBook) announceLocked(now Names, count uint64) {
	b.of[b.self] = announcement{max(count, b.starts*announcedAtOnce) + 1, now}
	b.untold = b.untold || now != Names{} || count > 0
	b.showLocked()
}

func (b *NameBook) showLocked() {
	a := &Announced{of: map[Server]Names{}}
	for s, announced := range b.of {
		if announced.Names != (Names{}) {
			a.of[s] = announced.Names
		}
	}
	b.shown.Store(a)
}

// Ripe reports whether any servers are to be told of the names now.
func (b *NameBook) Ripe(now time.Duration) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ripeLocked(now)
}

func (b *NameBook) ripeLocked(now time.Duration) bool {
	return b.untold || now-b.last >= ExchangePeriod && (!b.asked || len(b.shown.Load().of) > 0)
}

// Due returns which of the servers are to be told of the names now: all, one by lot, or none.
func (b *NameBook) Due(now time.Duration, servers map[Server]string) (told map[Server]string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(servers) == 0 || !b.ripeLocked(now) {
		return nil
	}
	b.last = now
	if !b.untold {
		return OneOf(servers)
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

// Encode returns the announcements, that of this server first.
func (b *NameBook) Encode() []byte {
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

func (b *NameBook) appendLocked(out []byte, s Server) []byte {
	a := b.of[s]
	out = appendAnnouncement(out, s, a.count, a.Hostname, a.Nodename)
	if a.Zone != "" {
		out = appendAnnouncement(out, Server{s.Group, zoneOf + s.Member}, a.count, a.Zone, "")
	}
	return out
}

func appendAnnouncement(out []byte, s Server, count uint64, hostname, nodename string) []byte {
	out = binary.AppendUvarint(binary.AppendUvarint(AppendText(out, s.Group), s.Member), count)
	return AppendText(AppendText(out, hostname), nodename)
}

var errNames = errors.New("cluster: names of servers do not decode")

// decodeAnnouncements reads what encode wrote.
func decodeAnnouncements(b []byte) (map[Server]announcement, error) {
	if len(b) == 0 || b[0] != announcementsFormat {
		return nil, errNames
	}
	of := map[Server]announcement{}
	for d := (Decoder{Rest: b[1:]}); len(d.Rest) > 0; {
		s := Server{Group: d.Text(MaxGroupName), Member: d.Number()}
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

// Take takes announcements of servers that are there, and forgets those of others.
func (b *NameBook) Take(text []byte, there map[Server]string) error {
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
	maps.DeleteFunc(b.of, func(s Server, _ announcement) bool { return s != b.self && there[s] == "" })
	if !maps.Equal(before, b.of) {
		b.showLocked()
	}
	return nil
}

// OneOf returns one of some servers, by lot; none if there is none.
func OneOf(servers map[Server]string) map[Server]string {
	skip := rand.IntN(max(1, len(servers)))
	for s, address := range servers {
		if skip--; skip < 0 {
			return map[Server]string{s: address}
		}
	}
	return nil
}

// ExchangePeriod is how often a server exchanges what it knows with one other server by lot.
const ExchangePeriod = time.Second

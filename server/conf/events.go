package conf

import "strings"

// Events is the set of keyspace events that are published.
type Events uint32

const (
	EventKeyspace Events = 1 << iota // K: publish to __keyspace@<db>__ channels
	EventKeyevent                    // E: publish to __keyevent@<db>__ channels
	EventGeneric                     // g: DEL, EXPIRE, RENAME and the like
	EventString                      // $
	EventList                        // l
	EventSet                         // s
	EventHash                        // h
	EventZSet                        // z
	EventExpired                     // x
	EventEvicted                     // e
	EventStream                      // t
	EventKeyMiss                     // m: not part of A
	EventModule                      // d
	EventNew                         // n: not part of A

	// EventAll is what A means.
	EventAll = EventGeneric | EventString | EventList | EventSet | EventHash | EventZSet |
		EventExpired | EventEvicted | EventStream | EventModule
)

// eventLetters lists the letters in the order in which they are shown; those
// before the bar are left out when A stands for them.
const eventLetters = "g$lshzxetdn|KEm"

func eventOf(letter byte) Events {
	switch letter {
	case 'A':
		return EventAll
	case 'K':
		return EventKeyspace
	case 'E':
		return EventKeyevent
	case 'g':
		return EventGeneric
	case '$':
		return EventString
	case 'l':
		return EventList
	case 's':
		return EventSet
	case 'h':
		return EventHash
	case 'z':
		return EventZSet
	case 'x':
		return EventExpired
	case 'e':
		return EventEvicted
	case 't':
		return EventStream
	case 'm':
		return EventKeyMiss
	case 'd':
		return EventModule
	case 'n':
		return EventNew
	}
	return 0
}

func parseEvents(s string) (Events, bool) {
	var all Events
	for i := range len(s) {
		e := eventOf(s[i])
		if e == 0 {
			return 0, false
		}
		all |= e
	}
	return all, true
}

// String shows the events as CONFIG GET does. Like Redis it forgets n beside
// A, so that the text is not always what was set.
func (e Events) String() string {
	var b strings.Builder
	letters := eventLetters
	if e&EventAll == EventAll {
		b.WriteByte('A')
		_, letters, _ = strings.Cut(letters, "|")
	}
	for i := range len(letters) {
		if e&eventOf(letters[i]) != 0 {
			b.WriteByte(letters[i])
		}
	}
	return b.String()
}

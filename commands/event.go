package commands

// EventClass is a set of classes of keyspace events, as the letters of
// notify-keyspace-events choose them.
type EventClass uint32

const (
	EventKeyspace    EventClass = 1 << iota // K: on __keyspace@db__:key
	EventKeyevent                           // E: on __keyevent@db__:event
	EventGeneric                            // g: DEL, EXPIRE, RENAME...
	EventString                             // $
	EventList                               // l
	EventSet                                // s
	EventHash                               // h
	EventZSet                               // z
	EventExpired                            // x
	EventEvicted                            // e
	EventStream                             // t
	EventMissed                             // m: a key that was looked up is missing
	EventModule                             // d: types that Redis has as modules
	EventNew                                // n: a key came to be
	EventOverwritten                        // o: a key got another value
	EventTypeChanged                        // c: of another type
	EventArray                              // a: a type of Redis that is not here
	// Beside EventHash, on channels about the parts of a key that have changed:
	EventPartsOfKey   // S: on __subkeyspace@db__:key
	EventPartsOfEvent // T: on __subkeyevent@db__:event
	EventPart         // I: on __subkeyspaceitem@db__:key and part
	EventKeyAndEvent  // V: on __subkeyspaceevent@db__:event and key
	eventClassesEnd
)

// EventParts are the classes of events that name parts.
const EventParts = EventPartsOfKey | EventPartsOfEvent | EventPart | EventKeyAndEvent

// EventAll is the meaning of the letter A: all classes except m, n, o, c, a and those about parts.
const EventAll = EventGeneric | EventString | EventList | EventSet | EventHash | EventZSet |
	EventExpired | EventEvicted | EventStream | EventModule

var eventLetters = []struct {
	letter byte
	class  EventClass
}{
	{'g', EventGeneric}, {'$', EventString}, {'l', EventList}, {'s', EventSet}, {'h', EventHash},
	{'z', EventZSet}, {'x', EventExpired}, {'e', EventEvicted}, {'t', EventStream},
	{'d', EventModule}, {'n', EventNew}, {'K', EventKeyspace}, {'E', EventKeyevent}, {'m', EventMissed},
	{'o', EventOverwritten}, {'c', EventTypeChanged}, {'a', EventArray},
	{'S', EventPartsOfKey}, {'T', EventPartsOfEvent}, {'I', EventPart}, {'V', EventKeyAndEvent},
}

// ParseEvents reads the value of notify-keyspace-events. ok is false if a
// letter is unknown.
func ParseEvents(s string) (classes EventClass, ok bool) {
next:
	for i := range len(s) {
		if s[i] == 'A' {
			classes |= EventAll
			continue
		}
		for _, l := range eventLetters {
			if l.letter == s[i] {
				classes |= l.class
				continue next
			}
		}
		return 0, false
	}
	return classes, true
}

// String is what CONFIG GET shows. Like Redis it omits n after A, so that the
// text is not always what was set.
func (e EventClass) String() string {
	var b []byte
	all := e&EventAll == EventAll
	if all {
		b = append(b, 'A')
	}
	for _, l := range eventLetters {
		if e&l.class != 0 && !(all && (EventAll|EventNew|EventArray)&l.class != 0) {
			b = append(b, l.letter)
		}
	}
	return string(b)
}

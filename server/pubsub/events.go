package pubsub

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/vigildb/vigil/commands"
)

// Event sends the event to the key's channel, and the key to the event's channel, if classes
// asks for its class. It may be
// called under the locks of the store.
func Event(classes, class commands.EventClass, event string, db int, key []byte, send func(channel, payload []byte)) {
	if classes&class == 0 {
		return
	}
	if classes&commands.EventKeyspace != 0 {
		send(eventChannel("__keyspace@", db, key), []byte(event))
	}
	if classes&commands.EventKeyevent != 0 {
		send(eventChannel("__keyevent@", db, []byte(event)), key)
	}
}

// eventChannel is the channel of events about a name.
func eventChannel(prefix string, db int, name []byte) []byte {
	b := strconv.AppendInt([]byte(prefix), int64(db), 10)
	return append(append(b, "__:"...), name...)
}

// EventParts sends which parts of a key an event was about, on the channels that are asked for: each part is written with its length,
// since it may have any bytes. Where a channel would be ambiguous nothing is sent: an event with the bar that follows it, a key
// with the line break that does.
func EventParts(classes, class commands.EventClass, event string, db int, key []byte, parts [][]byte, send func(channel, payload []byte)) {
	if classes&class == 0 || classes&commands.EventParts == 0 {
		return
	}
	list, named := appendSized(nil, parts...), []byte(event)
	barred := strings.Contains(event, "|")
	if classes&commands.EventPartsOfKey != 0 && !barred {
		send(eventChannel("__subkeyspace@", db, key), append(append(named[:len(named):len(named)], '|'), list...))
	}
	if classes&commands.EventPartsOfEvent != 0 {
		send(eventChannel("__subkeyevent@", db, named), append(append(appendSized(nil, key), '|'), list...))
	}
	if classes&commands.EventPart != 0 && bytes.IndexByte(key, '\n') < 0 {
		for _, part := range parts {
			send(append(append(eventChannel("__subkeyspaceitem@", db, key), '\n'), part...), named)
		}
	}
	if classes&commands.EventKeyAndEvent != 0 && !barred {
		send(append(append(eventChannel("__subkeyspaceevent@", db, named), '|'), key...), list)
	}
}

// appendSized appends texts with their lengths: 5:field,3:two.
func appendSized(b []byte, list ...[]byte) []byte {
	for i, text := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendInt(b, int64(len(text)), 10), ':')
		b = append(b, text...)
	}
	return b
}

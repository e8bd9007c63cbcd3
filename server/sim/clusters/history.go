package clusters

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// kind is what a call does with the keys of a tag: a, b, many that are always written together, and d,
// a JSON document with the members set and last.
type kind int

const (
	get         kind = iota // of a
	set                     // a
	del                     // a
	appendTo                // a
	getAll                  // at once
	setAll                  // at once
	transaction             // appends to a and b at once
	getDocument             // d
	setDocument             // d, of the member set alone
	mergeInto               // d, the member last
	delMember               // last of d, which goes with it if that was all
)

type input struct {
	kind  kind
	value string
}

// operation is a call, and what came of it. Without a reply, and not refused, it has happened or not.
type operation struct {
	client, tag int
	input
	begin, end int64 // in the order of all; end is that of the world for one without a reply
	output     string
	known      bool // it has a reply
	refused    bool // it has not happened
}

// history is what clients saw.
type history struct {
	mu   sync.Mutex
	tick int64        // guarded by mu
	all  []*operation // guarded by mu
}

func (h *history) begin(client, tag int, in input) *operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tick++
	o := &operation{client: client, tag: tag, input: in, begin: h.tick, end: math.MaxInt64}
	h.all = append(h.all, o)
	return o
}

func (h *history) end(o *operation, output string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tick++
	o.end, o.output, o.known = h.tick, output, true
}

// refuse notes that a call has not happened.
func (h *history) refuse(o *operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	o.refused = true
}

// counts are the calls with a reply, and those that may have happened or not.
func (h *history) counts() (known, unknown int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.all {
		switch {
		case o.known:
			known++
		case !o.refused:
			unknown++
		}
	}
	return known, unknown
}

// judging bounds the time that a tag's history is looked at.
const judging = 5 * time.Second

// judge says which tag's history no single server can have had, "" if none. unjudged counts those that take too long.
func (h *history) judge(tags []string) (violation string, unjudged int) {
	for tag, name := range tags {
		var ops []porcupine.Operation
		for _, o := range h.all {
			if o.tag != tag || o.refused || !o.known && (o.kind == get || o.kind == getAll || o.kind == getDocument) {
				continue
			}
			ops = append(ops, porcupine.Operation{ClientId: o.client, Input: o.input, Call: o.begin, Output: outcome{o.output, o.known}, Return: o.end})
		}
		switch result, _ := porcupine.CheckOperationsVerbose(model, ops, judging); result {
		case porcupine.Illegal:
			return fmt.Sprintf("no server alone can have replied so to the calls of tag %s", name), unjudged
		case porcupine.Unknown:
			unjudged++
		}
	}
	return "", unjudged
}

// outcome is a reply, if there was one.
type outcome struct {
	reply string
	known bool
}

// held is what the keys of a tag hold: a, b, what all of the many are, and the members set and last of d.
// What is not there is empty.
type held [5]string

// document does what a call does with d, and returns the reply.
func (h *held) document(i input) string {
	set, last := &h[3], &h[4]
	switch i.kind {
	case setDocument:
		*set, *last = i.value, ""
		return "OK"
	case mergeInto:
		*last = i.value
		return "OK"
	case delMember:
		if *last == "" {
			return "0"
		}
		*last = ""
		return "1"
	}
	if *set == "" && *last == "" {
		return ""
	}
	list := func(value string) string {
		if value == "" {
			return "[]"
		}
		return `["` + value + `"]`
	}
	return `{"$.set":` + list(*set) + `,"$.last":` + list(*last) + "}"
}

// model is that of the keys of a tag.
var model = porcupine.Model{
	Init: func() any { return held{} },
	Step: func(state, in, out any) (bool, any) {
		s, i, o := state.(held), in.(input), out.(outcome)
		reply := ""
		switch i.kind {
		case get:
			reply = s[0]
		case set:
			reply, s[0] = "OK", i.value
		case del:
			reply = "0"
			if s[0] != "" {
				reply = "1"
			}
			s[0] = ""
		case appendTo:
			s[0] += i.value
			reply = fmt.Sprint(len(s[0]))
		case getAll:
			reply = strings.Join(s[:3], ",")
		case setAll:
			reply, s[0], s[1], s[2] = "OK", i.value, i.value, i.value
		case transaction:
			s[0] += i.value
			s[1] += i.value
			reply = fmt.Sprint(len(s[1]))
		default:
			reply = s.document(i)
		}
		return !o.known || reply == o.reply, s
	},
	Equal: func(a, b any) bool { return a.(held) == b.(held) },
}

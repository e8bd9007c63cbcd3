package sim

import (
	"fmt"
	"strconv"
	"strings"
)

// call is what a client asks for: one command, or a MULTI with its commands.
type call struct {
	number   int
	client   *client
	db       int // selected when it was sent
	commands [][]string
	atomic   bool // between MULTI and EXEC

	sent, ended int // events
	outcome     outcome
	got         string // the reply, empty without one

	known  bool   // the model has executed it
	want   string // the reply that the model gave
	always bool   // it was executed under appendfsync always
	tells  int    // the newest state that the reply shows
	endDB  int    // selected afterwards
}

// outcome is what became of a call.
type outcome int

const (
	pending  outcome = iota
	returned         // with a reply
	refused          // with an error, and nothing was changed
	lost             // without a reply: it has happened or not
)

// replies is how many replies a call has.
func (c *call) replies() int {
	if c.atomic {
		return len(c.commands) + 2 // MULTI, QUEUED for each, EXEC
	}
	return 1
}

// blocks reports whether the client may have to wait for others.
func (c *call) blocks() bool { return c.commands[0][0] == "BLPOP" }

// encode writes the call as it is sent.
func (c *call) encode(b *strings.Builder) {
	if c.atomic {
		encode(b, []string{"MULTI"})
	}
	for _, args := range c.commands {
		encode(b, args)
	}
	if c.atomic {
		encode(b, []string{"EXEC"})
	}
}

// size is the length in bytes of what is sent.
func (c *call) size() int {
	var b strings.Builder
	c.encode(&b)
	return b.Len()
}

// String is the call for people.
func (c *call) String() string {
	var parts []string
	for _, args := range c.commands {
		words := make([]string, len(args))
		for i, a := range args {
			words[i] = short(a)
		}
		parts = append(parts, strings.Join(words, " "))
	}
	text := strings.Join(parts, "; ")
	if c.atomic {
		text = "MULTI " + text + " EXEC"
	}
	return fmt.Sprintf("call %d, client %d, db %d: %s", c.number, c.client.id, c.db, text)
}

// refusal reports whether a reply says that nothing was done because of the disk,
// memory, or a server that is still loading.
func refusal(reply string) bool {
	for _, code := range []string{"-MISCONF ", "-EXECABORT ", "-OOM ", "-LOADING "} {
		if strings.HasPrefix(reply, code) {
			return true
		}
	}
	return false
}

// millis reads a timeout in seconds.
func millis(s string) int64 {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		panic("sim: timeout " + s)
	}
	return int64(f * 1000)
}

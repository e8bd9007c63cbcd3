package wire

import (
	"errors"
	"fmt"
	"strings"
)

// The commands, as the second part of a channel names them.
const (
	PageViewed           = "pageview"
	Combo                = "combo"
	Notifications        = "notifications"
	MarkNotificationSeen = "mark-notification-seen"
	FeaturedPages        = "featuredpages"
)

// Commands are all commands.
var Commands = []string{PageViewed, Combo, Notifications, MarkNotificationSeen, FeaturedPages}

// MaxID is the length in bytes that a session or a request may have.
const MaxID = 256

// ErrMalformed is returned for channels, sessions and requests that the
// protocol does not allow.
var ErrMalformed = errors.New("wire: malformed")

// Request says what is asked, and for whom.
type Request struct {
	Command string
	Session string
	ID      string
}

// Names are the first parts of channels and lists. They may hold colons. The
// zero value stands for the white paper's: "ss" and "async".
type Names struct {
	Prefix string // of channels
	Async  string // of lists
}

func (n Names) prefix() string { return orElse(n.Prefix, "ss") }
func (n Names) async() string  { return orElse(n.Async, "async") }

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// Channel is the channel on which r is published.
func (n Names) Channel(r Request) string {
	return n.prefix() + ":" + r.Command + ":" + r.Session + ":" + r.ID
}

// List is the key of the list that takes the answer to r.
func (n Names) List(r Request) string {
	return n.async() + ":" + r.Command + ":" + r.Session + ":" + r.ID
}

// Pattern matches the channels of a command for the sessions that match glob.
func (n Names) Pattern(command, glob string) string {
	return n.prefix() + ":" + command + ":" + glob + ":?*"
}

// Parse reads a channel. A channel that has other than four parts, an empty
// part or an id over MaxID is refused with ErrMalformed: where a session held a
// colon, its rest would be taken for the request of another session.
func (n Names) Parse(channel string) (Request, error) {
	rest, ok := strings.CutPrefix(channel, n.prefix()+":")
	if !ok {
		return Request{}, fmt.Errorf("%w channel: no prefix %q", ErrMalformed, n.prefix())
	}
	parts := strings.SplitN(rest, ":", 4)
	if len(parts) != 3 {
		return Request{}, fmt.Errorf("%w channel: %d parts after the prefix, want 3", ErrMalformed, len(parts))
	}
	r := Request{Command: parts[0], Session: parts[1], ID: parts[2]}
	if err := r.Check(); err != nil {
		return Request{}, err
	}
	return r, nil
}

// Check returns ErrMalformed for a request that no channel can name.
func (r Request) Check() error {
	for _, part := range []struct{ what, text string }{
		{"command", r.Command}, {"session", r.Session}, {"request", r.ID},
	} {
		switch {
		case part.text == "":
			return fmt.Errorf("%w: empty %s", ErrMalformed, part.what)
		case len(part.text) > MaxID:
			return fmt.Errorf("%w: %s of %d bytes, more than %d", ErrMalformed, part.what, len(part.text), MaxID)
		case strings.Contains(part.text, ":"):
			return fmt.Errorf("%w: %s with a colon", ErrMalformed, part.what)
		}
	}
	return nil
}

package conn

import (
	"strings"

	"github.com/vigildb/vigil/commands"
)

// Tracker is what the server does for client-side caching.
type Tracker interface {
	// Track turns tracking on, or changes its options.
	Track(o Tracking)
	Untrack()
	// TrackingState returns the ID of the client that gets the invalidations of this
	// one, 0 for itself and -1 without tracking, and the prefixes in order.
	TrackingState() (redirect int64, prefixes []string)
	// ClientExists reports whether a client is connected.
	ClientExists(id uint64) bool
}

// Tracking is the options of CLIENT TRACKING.
type Tracking struct {
	Redirect uint64 // client ID; 0: none
	Modes    commands.ClientFlag
	Prefixes [][]byte
}

// Limits of the prefixes of one client. Every write looks for the prefixes of its keys,
// once for each length.
const (
	maxPrefixes    = 1000
	maxPrefixBytes = 64 << 10
)

func trackingRows() []commands.Command {
	return []commands.Command{
		{Name: "CLIENT TRACKING", Arity: -3, Flags: sessionFlags | commands.LeaderOnly,
			Syntax: "<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]",
			Since:  "6.0.0", Cost: "O(n) for n prefixes",
			Summary: "Turns invalidation messages for client-side caching on or off.", Run: clientTracking},
		{Name: "CLIENT CACHING", Arity: 3, Flags: sessionFlags,
			Syntax: "<YES | NO>", Since: "6.0.0", Cost: "O(1)",
			Summary: "Sets whether the keys of the next command are tracked.", Run: clientCaching},
		{Name: "CLIENT GETREDIR", Arity: 2, Flags: sessionFlags, Since: "6.0.0", Cost: "O(1)",
			Summary: "Returns the ID of the client that gets invalidation messages, 0 for the connection itself.", Run: clientGetRedir},
		{Name: "CLIENT TRACKINGINFO", Arity: 2, Flags: sessionFlags, Since: "6.2.0", Cost: "O(1)",
			Summary: "Returns the state of tracking of the connection.", Run: clientTrackingInfo},
	}
}

func clientTracking(c *commands.Ctx) error {
	word := c.Args.Bytes()
	o, err := readTracking(c)
	if err != nil {
		return err
	}
	switch {
	case commands.EqualFold(word, "ON"):
		if err := o.check(c); err != nil {
			return err
		}
		c.Host.(Tracker).Track(o)
	case commands.EqualFold(word, "OFF"):
		c.Host.(Tracker).Untrack()
	default:
		return commands.ErrSyntax
	}
	c.Reply.OK()
	return nil
}

func readTracking(c *commands.Ctx) (o Tracking, err error) {
	for c.Args.More() {
		option, more := c.Args.Word(), c.Args.More()
		switch {
		case option == "REDIRECT" && more:
			if o.Redirect != 0 {
				return o, errSecondRedirect
			}
			o.Redirect = uint64(c.Args.Int())
			if err := c.Args.Err(); err != nil {
				return o, err
			}
			if !c.Host.(Tracker).ClientExists(o.Redirect) {
				return o, errNoRedirect
			}
		case option == "PREFIX" && more:
			o.Prefixes = append(o.Prefixes, c.Args.Bytes())
		case option == "BCAST":
			o.Modes |= commands.ClientTrackingBcast
		case option == "OPTIN":
			o.Modes |= commands.ClientTrackingOptIn
		case option == "OPTOUT":
			o.Modes |= commands.ClientTrackingOptOut
		case option == "NOLOOP":
			o.Modes |= commands.ClientTrackingNoLoop
		default:
			return o, commands.ErrSyntax
		}
	}
	return o, nil
}

// check returns why the options cannot be turned on, alone or after those that are on.
func (o *Tracking) check(c *commands.Ctx) error {
	const in, out = commands.ClientTrackingOptIn, commands.ClientTrackingOptOut
	bcast := o.Modes&commands.ClientTrackingBcast != 0
	switch {
	case !bcast && len(o.Prefixes) > 0:
		return errPrefixNeedsBcast
	case c.Client.Has(commands.ClientTracking) && c.Client.Has(commands.ClientTrackingBcast) != bcast:
		return errSwitchBcast
	case bcast && o.Modes&(in|out) != 0:
		return errBcastOptions
	case o.Modes&in != 0 && o.Modes&out != 0:
		return errBothOptions
	case o.Modes&in != 0 && c.Client.Has(out), o.Modes&out != 0 && c.Client.Has(in):
		return errSwitchOptions
	case bcast:
		return o.checkPrefixes(c)
	}
	return nil
}

// checkPrefixes returns an error if a prefix overlaps with another one of the client, or
// if they are too many.
func (o *Tracking) checkPrefixes(c *commands.Ctx) error {
	_, have := c.Host.(Tracker).TrackingState()
	count, size := len(have)+len(o.Prefixes), 0
	for _, p := range have {
		size += len(p)
	}
	for _, p := range o.Prefixes {
		size += len(p)
	}
	if count > maxPrefixes || size > maxPrefixBytes {
		return errPrefixLimit
	}
	for i, b := range o.Prefixes {
		p := string(b)
		for _, other := range have {
			if overlap(p, other) {
				return errPrefixExists(p, other)
			}
		}
		for _, other := range o.Prefixes[i+1:] {
			if overlap(p, string(other)) {
				return errPrefixTwice(p, string(other))
			}
		}
	}
	return nil
}

func overlap(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

func clientCaching(c *commands.Ctx) error {
	if !c.Client.Has(commands.ClientTracking) {
		return errCachingOff
	}
	switch c.Args.Word() {
	case "YES":
		if !c.Client.Has(commands.ClientTrackingOptIn) {
			return errCachingYes
		}
	case "NO":
		if !c.Client.Has(commands.ClientTrackingOptOut) {
			return errCachingNo
		}
	default:
		return commands.ErrSyntax
	}
	c.Client.Set(commands.ClientTrackingCaching)
	c.Reply.OK()
	return nil
}

func clientGetRedir(c *commands.Ctx) error {
	redirect, _ := c.Host.(Tracker).TrackingState()
	c.Reply.Int(redirect)
	return nil
}

func clientTrackingInfo(c *commands.Ctx) error {
	redirect, prefixes := c.Host.(Tracker).TrackingState()
	flags := []string{"off"}
	if c.Client.Has(commands.ClientTracking) {
		flags[0] = "on"
	}
	caching := c.Client.Has(commands.ClientTrackingCaching)
	add := func(f commands.ClientFlag, also bool, word string) {
		if c.Client.Has(f) && also {
			flags = append(flags, word)
		}
	}
	add(commands.ClientTrackingBcast, true, "bcast")
	add(commands.ClientTrackingOptIn, true, "optin")
	add(commands.ClientTrackingOptIn, caching, "caching-yes")
	add(commands.ClientTrackingOptOut, true, "optout")
	add(commands.ClientTrackingOptOut, caching, "caching-no")
	add(commands.ClientTrackingNoLoop, true, "noloop")
	add(commands.ClientTrackingBroken, true, "broken_redirect")
	c.Reply.Map(3)
	c.Reply.BulkString("flags")
	c.Reply.Set(len(flags))
	for _, f := range flags {
		c.Reply.BulkString(f)
	}
	c.Reply.BulkString("redirect")
	c.Reply.Int(redirect)
	c.Reply.BulkString("prefixes")
	c.Reply.Strings(prefixes)
	return nil
}

package commands

// TimeUnit is the unit in which a command takes or returns a time, in
// milliseconds.
type TimeUnit int64

const (
	Milliseconds TimeUnit = 1
	Seconds      TimeUnit = 1000
)

// Past reports whether a key that gets this expiry, unix ms, goes at once. While import-mode is on it stays, and is seen by
// those who copy data here: its time may have come between two of their calls.
func (c *Ctx) Past(ms int64) bool { return ms <= c.Now && !c.Host.Limits().ImportMode }

// ExpiryCondition is a set of the conditions under which EXPIRE and its
// relatives set an expiry. The empty set always holds.
type ExpiryCondition uint8

const (
	IfNoExpiry ExpiryCondition = 1 << iota // NX
	IfExpiry                               // XX
	IfLater                                // GT: no expiry is later than any
	IfEarlier                              // LT
)

// Allows reports whether an expiry that is now old (0: none) may become ms.
func (f ExpiryCondition) Allows(old, ms int64) bool {
	return (f&IfNoExpiry == 0 || old == 0) &&
		(f&IfExpiry == 0 || old != 0) &&
		(f&IfLater == 0 || old != 0 && ms > old) &&
		(f&IfEarlier == 0 || old == 0 || ms < old)
}

// ParseExpiryCondition returns the condition that an upper-case word names, 0
// if it names none.
func ParseExpiryCondition(word string) ExpiryCondition {
	switch word {
	case "NX":
		return IfNoExpiry
	case "XX":
		return IfExpiry
	case "GT":
		return IfLater
	case "LT":
		return IfEarlier
	}
	return 0
}

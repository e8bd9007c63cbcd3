package zsets

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errNotCompatible   = commands.WireError("ERR XX and NX options at the same time are not compatible")
	errOrderOptions    = commands.WireError("ERR GT, LT, and/or NX options at the same time are not compatible")
	errIncrementPair   = commands.WireError("ERR INCR option supports a single increment-element pair")
	errNotANumber      = commands.WireError("ERR resulting score is not a number (NaN)")
	errScoreRange      = commands.WireError("ERR min or max is not a float")
	errMemberRange     = commands.WireError("ERR min or max not valid string range item")
	errLimitOfRanks    = commands.WireError("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")
	errScoresOfMembers = commands.WireError("ERR syntax error, WITHSCORES not supported in combination with BYLEX")
	errWeight          = commands.WireError("ERR weight value is not a float")
)

// errNoInput is the error of a combination of no keys.
func errNoInput(c *commands.Command) commands.WireError {
	return commands.Errorf("ERR at least 1 input key is needed for '%s' command", c.FullName())
}

package sets

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errMembersMissing   = commands.WireError("ERR Mandatory argument MEMBERS is missing or not at the right position")
	errMembersNowhere   = commands.WireError("ERR missing MEMBERS argument")
	errMemberConditions = commands.WireError("ERR Multiple condition flags specified")
	errMembersNone      = commands.WireError("ERR MEMBERS requires at least nummembers and one member argument")
	errNumMembersFew    = commands.WireError("ERR wrong number of arguments")
	errNumMembersWrong  = commands.WireError("ERR invalid number of members")
	errMemberCondition  = commands.WireError("ERR Only one of MXX or MNX arguments can be specified")
	errNumMembers       = commands.WireError("ERR Number of members must be a positive integer")
	errNumMembersZero   = commands.WireError("ERR Parameter `numMembers` should be greater than 0")
	errNumMembersMatch  = commands.WireError("ERR The `nummembers` parameter must match the number of arguments")
)

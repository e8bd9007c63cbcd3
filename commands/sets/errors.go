package sets

import "github.com/vigildb/vigil/commands"

// Errors that only this family returns, word for word as clients see them.
const (
	errMembersMissing  = commands.WireError("ERR Mandatory argument MEMBERS is missing or not at the right position")
	errNumMembers      = commands.WireError("ERR Number of members must be a positive integer")
	errNumMembersZero  = commands.WireError("ERR Parameter `numMembers` should be greater than 0")
	errNumMembersMatch = commands.WireError("ERR The `numMembers` parameter must match the number of arguments")
)

// Command vigil-differences prints in what a vigil server differs from a Redis or a Valkey in what servers say of themselves: their
// commands (COMMAND, COMMAND DOCS), directives (CONFIG GET), fields of INFO and CLIENT LIST, and categories of ACLs. Each
// difference is printed with its reason, from reasons.txt. It exits with 1 if one has none, or if a reason has no difference.
//
//	vigil-differences -vigil 127.0.0.1:6379 -redis 127.0.0.1:7001 -valkey 127.0.0.1:7002
package main

// Package logs says how important the lines are that a member of a cluster logs, and keeps it from repeating itself.
package logs

// Package text holds strings that are too long for a record of the keyspace, and the
// longest common subsequence of two strings.
package text

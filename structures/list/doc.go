// Package list holds the value of a key that is a list: packed nodes (node.go) in an
// array with room at both ends (deque.go). Each node is a page on disk (pages.go).
package list

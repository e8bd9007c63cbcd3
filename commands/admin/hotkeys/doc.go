// Package hotkeys finds the keys that take most of a server's time or of its network, while somebody asks for that.
//
// A [Tracker] is told of calls: their keys, how long they took, and how many bytes they and their replies had. It keeps as many
// counters as it was given room for, whatever number of keys there is (the algorithm Space-Saving of Metwally, Agrawal and El
// Abbadi, 2005): a key without a counter takes over the smallest one, with its amount. A key whose share is above one in the number
// of counters has one for certain. What is reported of a key leaves out what it took over: that is never too high, and too low by
// the smallest counter at the most, so that keys which only came last are not reported as hot.
package hotkeys

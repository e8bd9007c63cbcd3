// Leaderboard is an example: the high scores of a game in sorted sets, with
// go-redis, for vigil or any Redis from 6.2 on.
//
//	go run .                       # a server in memory, inside the process
//	go run . -addr localhost:6379
//
// Board has a sorted set for all time and one for each week, which expires.
// Players with equal points share a place. What a page shows of a player, that is
// place, points and neighbours, is read by one script, so that it is one
// moment's even while others play.
package main

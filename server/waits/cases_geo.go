package waits

import "strconv"

// located is a member behind its coordinates, which are within some hundred kilometers.
func located(c *Client, i int) {
	c.Arg(strconv.FormatFloat(float64(i%1000)/200, 'f', 3, 64))
	c.Arg(strconv.FormatFloat(float64(i/1000)/200, 'f', 3, 64))
	one(c, i)
}

var (
	somePlaces = built(3, located, "GEOADD", Key)
	everywhere = []string{"FROMLONLAT", "0", "0", "BYRADIUS", "10000", "km", "ASC"}
)

var geoCases = []Case{
	{Command: "GEOADD", What: "members", Call: many(3, located, []string{"GEOADD", Key})},
	{Command: "GEOPOS", What: "members", Before: somePlaces, Call: many(1, one, []string{"GEOPOS", Key})},
	{Command: "GEOHASH", What: "members", Before: somePlaces, Call: many(1, one, []string{"GEOHASH", Key})},
	{Command: "GEODIST", What: "sorted set", Before: somePlaces, Call: nth("GEODIST", Key, "last", "element:0")},
	{Command: "GEOSEARCH", What: "members", Before: somePlaces, Call: call(append([]string{"GEOSEARCH", Key}, everywhere...)...)},
	{Command: "GEOSEARCHSTORE", What: "members", Before: somePlaces, Call: call(append([]string{"GEOSEARCHSTORE", "other", Key}, everywhere...)...)},
	{Command: "GEORADIUS", What: "members", Before: somePlaces, Call: call("GEORADIUS", Key, "0", "0", "10000", "km", "ASC", "WITHDIST")},
	{Command: "GEORADIUS_RO", What: "members", Before: somePlaces, Call: call("GEORADIUS_RO", Key, "0", "0", "10000", "km", "ASC", "WITHDIST")},
	{Command: "GEORADIUSBYMEMBER", What: "members", Before: somePlaces, Call: nth("GEORADIUSBYMEMBER", Key, "last", "10000", "km", "STORE", "other")},
	{Command: "GEORADIUSBYMEMBER_RO", What: "members", Before: somePlaces, Call: nth("GEORADIUSBYMEMBER_RO", Key, "last", "10000", "km", "DESC")},
}

package sim

import (
	"maps"
	"slices"
	"strconv"
)

// Filters and sketches are hashes in the model: the items that were added with their counts, or the least and the
// greatest value of a digest. They are made wide enough for the few items that there are, so that every
// answer is exact. An entry without a name keeps one alive that is empty.

// sketchItems are all that are added.
var sketchItems = []string{"f0", "f1", "f2"}

// sketchMissing is what commands about a key of a letter say if there is none, sketchThere what those say that
// make one.
var sketchMissing = map[byte]string{
	'c': "-Not found", 'm': "-CMS: key does not exist", 'k': "-TopK: key does not exist", 'd': "-ERR T-Digest: key does not exist",
}

var sketchThere = map[byte]string{
	'm': "-CMS: key already exists", 'k': "-TopK: key already exists", 'd': "-ERR T-Digest: key already exists",
}

func (r *run) sketchCommand(args []string) string {
	key := args[1]
	v, there := r.edit(key), r.get(key) != nil
	switch args[0] {
	case "CMS.INITBYDIM", "TOPK.RESERVE", "TDIGEST.CREATE":
		if there {
			return sketchThere[key[0]]
		}
		v.hash = map[string]string{"": ""}
		r.set(key, &v)
		return ok
	case "CF.EXISTS":
		_, has := v.hash[args[2]]
		return number(truth(has))
	case "CF.ADDNX":
		if !there {
			v.hash = map[string]string{"": ""}
		}
	default:
		if !there {
			return sketchMissing[key[0]]
		}
	}
	old, has := v.hash[args[2]]
	switch args[0] {
	case "CMS.QUERY":
		return list([]string{number(atoi("0" + old))})
	case "TDIGEST.ADD":
		n := atoi(args[2])
		if least, any := v.hash["least"]; !any || n < atoi(least) {
			v.hash["least"] = args[2]
		}
		if greatest, any := v.hash["greatest"]; !any || n > atoi(greatest) {
			v.hash["greatest"] = args[2]
		}
		r.set(key, &v)
		return ok
	case "CF.DEL":
		if !has {
			return "0"
		}
		delete(v.hash, args[2])
		r.set(key, &v)
		return "1"
	case "CF.ADDNX":
		if has {
			return "0"
		}
		v.hash[args[2]] = "1"
		r.set(key, &v)
		return "1"
	}
	v.hash[args[2]] = number(atoi("0"+old) + 1)
	r.set(key, &v)
	if args[0] == "TOPK.ADD" {
		return list([]string{absent})
	}
	return list([]string{v.hash[args[2]]})
}

// sketchFound is the value of the model for what wholeSketch returned.
func sketchFound(key string, reply []string) map[string]string {
	found := map[string]string{"": ""}
	switch key[0] {
	case 'c', 'm':
		for i, item := range sketchItems {
			if reply[i] != "0" {
				found[item] = reply[i]
			}
		}
	case 'k':
		for pair := range slices.Chunk(reply, 2) {
			found[pair[0]] = pair[1]
		}
	case 'd':
		if reply[0] != "nan" {
			maps.Copy(found, map[string]string{"least": reply[0], "greatest": reply[1]})
		}
	}
	return found
}

// wholeSketch is the command that reads all that the model knows of a filter or sketch.
func wholeSketch(key string) []string {
	switch key[0] {
	case 'c':
		return append([]string{"CF.MEXISTS", key}, sketchItems...)
	case 'm':
		return append([]string{"CMS.QUERY", key}, sketchItems...)
	case 'k':
		return []string{"TOPK.LIST", key, "WITHCOUNT"}
	}
	return []string{"TDIGEST.QUANTILE", key, "0", "1"}
}

// sketch is a command on a filter or sketch of a family.
func (w *workload) sketch(f string) []string {
	c, m, k, d := "c"+f, "m"+f, "k"+f, "d"+f
	item, number := sketchItems[w.r.IntN(len(sketchItems))], strconv.Itoa(w.r.IntN(100_000))
	return w.one("CF.ADDNX "+c+" "+item, "CF.ADDNX "+c+" "+item, "CF.DEL "+c+" "+item, "CF.EXISTS "+c+" "+item,
		"CMS.INITBYDIM "+m+" 3000 4", "CMS.INCRBY "+m+" "+item+" 1", "CMS.INCRBY "+m+" "+item+" 1", "CMS.QUERY "+m+" "+item,
		"TOPK.RESERVE "+k+" 5 1000 3 0.9", "TOPK.ADD "+k+" "+item, "TOPK.ADD "+k+" "+item,
		"TDIGEST.CREATE "+d, "TDIGEST.ADD "+d+" "+number, "TDIGEST.ADD "+d+" "+number,
		"DEL "+c, "DEL "+m, "DEL "+k, "DEL "+d)
}

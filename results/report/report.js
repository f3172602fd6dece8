// Zoom and pan of the timelines. Without it their first window stands as it was drawn.
"use strict";
(function () {
  var NS = "http://www.w3.org/2000/svg";

  function add(parent, kind, attributes, words) {
    var node = document.createElementNS(NS, kind);
    for (var name in attributes) node.setAttribute(name, attributes[name]);
    if (words !== undefined) node.textContent = words;
    parent.appendChild(node);
    return node;
  }

  // 1, 2 or 5 times a power of ten, upwards.
  function step(raw) {
    var power = Math.pow(10, Math.floor(Math.log10(raw))), digit = raw / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
  }

  function drawAxis(to, d, from, end) {
    var bottom = d.top + d.lane * d.lanes, by = step((end - from) / 8);
    var digits = Math.max(0, -Math.floor(Math.log10(by / 1e6) + 1e-9));
    for (var t = Math.ceil(from / by) * by; t <= end; t += by) {
      var x = d.left + d.wide * (t - from) / (end - from);
      add(to, "line", {x1: x, y1: d.top, x2: x, y2: bottom, "class": "grid"});
      add(to, "text", {x: x, y: bottom + 14, "class": "tick mid"}, (t / 1e6).toFixed(digits));
    }
    add(to, "line", {x1: d.left, y1: bottom, x2: d.left + d.wide, y2: bottom, "class": "axis"});
    add(to, "text", {x: d.left + d.wide / 2, y: bottom + 30, "class": "label mid"}, "time, s");
  }

  function drawSlices(to, d, from, end) {
    function piece(lane, begin, stop, fill, name) {
      begin = Math.max(begin, from);
      stop = Math.min(stop, end);
      if (stop <= begin) return;
      var scale = d.wide / (end - from);
      var rect = add(to, "rect", {
        x: d.left + scale * (begin - from), y: d.top + d.lane * lane + 2,
        width: Math.max(0.4, scale * (stop - begin)), height: d.lane - 4, "class": fill
      });
      add(rect, "title", {}, name);
    }
    for (var i = 0; i < d.slices.length; i += 5) {
      var lane = d.slices[i], what = d.what[d.slices[i + 1]], at = d.slices[i + 2], stop = at + d.slices[i + 3];
      if (stop <= from || at >= end) continue;
      var slow = Math.max(at, stop - d.slices[i + 4]);
      var length = what[1] + ", " + ((stop - at) / 1e3).toFixed(1) + " ms";
      piece(lane, at, slow, what[0], length);
      piece(lane, slow, stop, "slow", "slowdown, " + ((stop - slow) / 1e3).toFixed(1) + " ms");
    }
  }

  function start(box) {
    var d = JSON.parse(box.querySelector("script").textContent), svg = box.querySelector("svg");
    var moving = svg.querySelector(".moving"), from = d.from, end = d.to, waiting = false;

    function draw() {
      waiting = false;
      while (moving.firstChild) moving.removeChild(moving.firstChild);
      drawAxis(moving, d, from, end);
      drawSlices(moving, d, from, end);
    }
    // The length is kept at the ends; the window stays within what is here of the trial.
    function show(newFrom, newEnd) {
      var length = Math.min(Math.max(newEnd - newFrom, 100), d.last - d.first);
      from = Math.min(Math.max(d.first, newFrom), d.last - length);
      end = from + length;
      if (!waiting) window.requestAnimationFrame(draw);
      waiting = true;
    }
    function zoom(factor, share) {
      var at = from + (end - from) * share;
      show(at - (at - from) * factor, at + (end - at) * factor);
    }
    function move(share) { show(from + (end - from) * share, end + (end - from) * share); }
    function shareOf(event) {
      var frame = svg.getBoundingClientRect(), width = svg.viewBox.baseVal.width;
      return ((event.clientX - frame.left) / frame.width * width - d.left) / d.wide;
    }

    var controls = document.createElement("div");
    controls.className = "controls";
    [["\u2190", "earlier", function () { move(-0.5); }], ["\u2192", "later", function () { move(0.5); }],
     ["+", "zoom in (Ctrl and the wheel)", function () { zoom(0.5, 0.5); }],
     ["\u2212", "zoom out", function () { zoom(2, 0.5); }],
     ["all", "all that is here of the trial", function () { show(d.first, d.last); }],
     ["back", "to the first window", function () { show(d.from, d.to); }]].forEach(function (button) {
      var node = document.createElement("button");
      node.type = "button";
      node.textContent = button[0];
      node.title = button[1];
      node.setAttribute("aria-label", button[1]);
      node.addEventListener("click", button[2]);
      controls.appendChild(node);
    });
    box.insertBefore(controls, svg);
    box.classList.add("moves");

    // A wheel alone scrolls the page.
    svg.addEventListener("wheel", function (event) {
      if (!event.ctrlKey) return;
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.min(1, Math.max(0, shareOf(event))));
    }, {passive: false});
    var held = null;
    svg.addEventListener("pointerdown", function (event) {
      held = {share: shareOf(event), from: from, end: end};
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", function (event) {
      if (!held) return;
      var by = (held.share - shareOf(event)) * (held.end - held.from);
      show(held.from + by, held.end + by);
    });
    ["pointerup", "pointercancel"].forEach(function (kind) {
      svg.addEventListener(kind, function () { held = null; });
    });
  }

  Array.prototype.forEach.call(document.querySelectorAll(".timeline"), start);
})();

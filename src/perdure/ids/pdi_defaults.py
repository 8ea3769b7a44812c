"""The fragment scheme that each format implies, which gives `#37,51` its meaning in a PDI.

How it works: section 3.4 of the draft gives every text, image, audio and video type a default
scheme. A format token is a minor type, so the tables list the minor types of IANA's registry (as of
Debian's media-types 10.0.0) that belong to only one of these four major types, the character sets
that imply text (ruling pdi-charset), and the file extensions that ruling pdi-token reads as
aliases. A token with `+` names its major type itself.

What must stay true: a default is part of an identifier's canonical form, so an entry may be added
(a malformed text becomes an identifier) but never changed or removed. For this reason the tables
are kept here and do not follow `perdure.formats`, whose snapshot is updated.
"""

from __future__ import annotations

import re

# ruling: pdi-fragment-default
_SCHEMES = {"text": "char", "image": "rect", "audio": "sec", "video": "sec"}


# text/*, with `text` for text/plain; html, sgml and xml as the draft says
_TEXT = """
    cache-manifest calendar cql cql-extension cql-identifier css csv csv-schema enriched
    fhirpath gff3 grammar-ref-list hl7v2 htm html javascript jcr-cnd markdown mizar n3
    parameters provenance-notation prs%2efallenstein%2erst prs%2elines%2etag prs%2eprop%2elogic
    rfc822-headers sgml shaclc shex spdx strings t140 tab-separated-values texmacs text troff
    turtle txt uri-list vcard vnd%2ea vnd%2eabc vnd%2eascii-art vnd%2edebian%2ecopyright
    vnd%2edmclientscript vnd%2eesmertec%2etheme-descriptor vnd%2eexchangeable
    vnd%2efamilysearch%2egedcom vnd%2eficlab%2eflt vnd%2efly vnd%2efmi%2eflexstor vnd%2egml
    vnd%2egraphviz vnd%2ehans vnd%2ehgl vnd%2ein3d%2e3dml vnd%2ein3d%2espot vnd%2eiptc%2enewsml
    vnd%2eiptc%2enitf vnd%2elatex-z vnd%2emotorola%2ereflex vnd%2ems-mediapackage
    vnd%2enet2phone%2ecommcenter%2ecommand vnd%2eradisys%2emsml-basic-layout
    vnd%2esenx%2ewarpscript vnd%2esosi vnd%2esun%2ej2me%2eapp-descriptor
    vnd%2etrolltech%2elinguist vnd%2ewap%2esi vnd%2ewap%2esl vnd%2ewap%2ewml
    vnd%2ewap%2ewmlscript vtt wgsl x-bibtex x-boo x-c%2b%2bhdr x-c%2b%2bsrc x-chdr x-component
    x-csrc x-diff x-dsrc x-haskell x-java x-lilypond x-literate-haskell x-moc x-pascal x-pcs-gcd
    x-perl x-python x-scala x-setext x-sfv x-tex x-vcalendar xml
"""

# ruling: pdi-charset
_CHARSETS = """
    big5 big5-hkscs bocu-1 cesu-8 cp51932 euc-jp euc-kr gb18030 gb2312 gbk hz-gb-2312
    iso-10646-ucs-2 iso-10646-ucs-4 iso-2022-cn iso-2022-cn-ext iso-2022-jp iso-2022-jp-2
    iso-2022-kr iso-8859-1 iso-8859-10 iso-8859-13 iso-8859-14 iso-8859-15 iso-8859-16
    iso-8859-2 iso-8859-3 iso-8859-4 iso-8859-5 iso-8859-6 iso-8859-7 iso-8859-8 iso-8859-9
    koi8-r koi8-u ks_c_5601-1987 macintosh scsu shift_jis tis-620 us-ascii utf-16 utf-16be
    utf-16le utf-32 utf-32be utf-32le utf-7 utf-8 viscii windows-1250 windows-1251 windows-1252
    windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258 windows-31j
    windows-874
"""

# image/*
_IMAGE = """
    aces apng avci avcs avif bmp cgm dicom-rle dpx emf g3fax gif heic heic-sequence heif
    heif-sequence hej2k hsj2 ief jls jp2 jpeg jpg jph jphc jpm jpx jxl jxr jxra jxrs jxs jxsc
    jxsi jxss ktx ktx2 naplps pbm pgm png ppm prs%2ebtif prs%2epti pwg-raster svg%2bxml tif tiff
    tiff-fx vnd%2eadobe%2ephotoshop vnd%2eairzip%2eaccelerator%2eazv vnd%2ecns%2einf2
    vnd%2edece%2egraphic vnd%2edjvu vnd%2edwg vnd%2edxf vnd%2efastbidsheet vnd%2efpx vnd%2efst
    vnd%2efujixerox%2eedmics-mmr vnd%2efujixerox%2eedmics-rlc vnd%2eglobalgraphics%2epgb
    vnd%2emicrosoft%2eicon vnd%2emix vnd%2ems-modi vnd%2enet-fpx vnd%2epco%2eb16 vnd%2eradiance
    vnd%2esealed%2epng vnd%2esealedmedia%2esoftseal%2egif vnd%2esealedmedia%2esoftseal%2ejpg
    vnd%2esvf vnd%2etencent%2etap vnd%2evalve%2esource%2etexture vnd%2ewap%2ewbmp vnd%2exiff
    vnd%2ezbrush%2epcx webp wmf x-canon-cr2 x-canon-crw x-cmu-raster x-coreldraw
    x-coreldrawpattern x-coreldrawtemplate x-corelphotopaint x-epson-erf x-jg x-jng x-nikon-nef
    x-olympus-orf x-portable-anymap x-portable-bitmap x-portable-graymap x-portable-pixmap x-rgb
    x-xbitmap x-xcf x-xpixmap x-xwindowdump
"""

# audio/*
_AUDIO = """
    32kadpcm aac ac3 aif aiff amr amr-wb amr-wb%2b aptx asc atrac-advanced-lossless atrac-x
    atrac3 au basic bv16 bv32 clearmode cn csound dat12 dls dsr-es201108 dsr-es202050
    dsr-es202211 dsr-es202212 dvi4 eac3 evrc evrc-qcp evrc0 evrc1 evrcb evrcb0 evrcb1 evrcnw
    evrcnw0 evrcnw1 evrcwb evrcwb0 evrcwb1 evs flac g711-0 g719 g722 g7221 g723 g726-16 g726-24
    g726-32 g726-40 g728 g729 g7291 g729d g729e gsm gsm-efr gsm-hr-08 ilbc ip-mr_v2%2e5 l16 l20
    l24 l8 lpc melp melp1200 melp2400 melp600 mhas mobile-xmf mp3 mp4a-latm mpa mpa-robust
    mpegurl opus pcma pcma-wb pcmu pcmu-wb prs%2esid qcelp ra rtp-midi smv smv-qcp smv0 sofa
    sp-midi speex t140c telephone-event tetra_acelp tetra_acelp_bb tone tsvcis uemclip usac vdvi
    vmr-wb vnd%2e3gpp%2eiufp vnd%2e4sb vnd%2eaudiokoz vnd%2ecelp vnd%2ecisco%2ense
    vnd%2ecmles%2eradio-events vnd%2ecns%2eanp1 vnd%2ecns%2einf1 vnd%2edece%2eaudio
    vnd%2edigital-winds vnd%2edlna%2eadts vnd%2edolby%2eheaac%2e1 vnd%2edolby%2eheaac%2e2
    vnd%2edolby%2emlp vnd%2edolby%2emps vnd%2edolby%2epl2 vnd%2edolby%2epl2x vnd%2edolby%2epl2z
    vnd%2edolby%2epulse%2e1 vnd%2edra vnd%2edts vnd%2edts%2ehd vnd%2edts%2euhd
    vnd%2eeverad%2eplj vnd%2ehns%2eaudio vnd%2elucent%2evoice vnd%2ems-playready%2emedia%2epya
    vnd%2enokia%2emobile-xmf vnd%2enortel%2evbk vnd%2enuera%2eecelp4800 vnd%2enuera%2eecelp7470
    vnd%2enuera%2eecelp9600 vnd%2eoctel%2esbc vnd%2epresonus%2emultitrack
    vnd%2erhetorex%2e32kadpcm vnd%2erip vnd%2esealedmedia%2esoftseal%2empeg vnd%2evmx%2ecvsd
    vorbis vorbis-config wav x-aiff x-gsm x-ms-wax x-ms-wma x-pn-realaudio x-scpls x-sd2 x-wav
"""

# video/*, and types registered as both audio and video
_VIDEO = """
    3gpp 3gpp-tt 3gpp2 av1 avi bmpeg bt656 celb dv ffv1 fli gl h261 h263 h263-1998 h263-2000
    h264 h264-rcdo h264-svc h265 h266 iso%2esegment jpeg2000 jxsv mj2 mov mp1s mp2p mp2t mp4
    mp4v-es mpeg mpg mpv nv ogg pointer quicktime raw scip smpte291 smpte292m vc1 vc2 vnd%2ecctv
    vnd%2edece%2ehd vnd%2edece%2emobile vnd%2edece%2emp4 vnd%2edece%2epd vnd%2edece%2esd
    vnd%2edece%2evideo vnd%2edirectv%2empeg vnd%2edirectv%2empeg-tts vnd%2edlna%2empeg-tts
    vnd%2edvb%2efile vnd%2efvt vnd%2ehns%2evideo vnd%2eiptvforum%2e1dparityfec-1010
    vnd%2eiptvforum%2e1dparityfec-2005 vnd%2eiptvforum%2e2dparityfec-1010
    vnd%2eiptvforum%2e2dparityfec-2005 vnd%2eiptvforum%2ettsavc vnd%2eiptvforum%2ettsmpeg2
    vnd%2emotorola%2evideo vnd%2emotorola%2evideop vnd%2empegurl
    vnd%2ems-playready%2emedia%2epyv vnd%2enokia%2einterleaved-multimedia vnd%2enokia%2emp4vr
    vnd%2enokia%2evideovoip vnd%2eobjectvideo vnd%2eradgamettools%2ebink
    vnd%2eradgamettools%2esmacker vnd%2esealed%2empeg1 vnd%2esealed%2empeg4 vnd%2esealed%2eswf
    vnd%2esealedmedia%2esoftseal%2emov vnd%2euvvu%2emp4 vnd%2evivo vnd%2eyoutube%2eyt vp8 vp9
    webm x-flv x-la-asf x-matroska x-mng x-ms-wm x-ms-wmv x-ms-wmx x-ms-wvx x-msvideo
    x-sgi-movie
"""

_MAJOR_TYPES = {
    token: major
    for major, tokens in (
        ("text", _TEXT),
        ("text", _CHARSETS),
        ("image", _IMAGE),
        ("audio", _AUDIO),
        ("video", _VIDEO),
    )
    for token in tokens.split()
}


_DEFAULTS = {token: _SCHEMES[major] for token, major in _MAJOR_TYPES.items()}


def find_default_scheme(token: str) -> str | None:
    """Return the fragment scheme that a canonical format implies, or None.

    >>> find_default_scheme("html"), find_default_scheme("audio+mpeg"), find_default_scheme("pdf")
    ('char', 'sec', None)
    """
    return _DEFAULTS.get(token) or _SCHEMES.get(token.partition("+")[0] if "+" in token else "")


# Formats beyond the draft's that imply a scheme, for positions that no other default takes.
# ruling: pdi-other-schemes
_PAGES = re.compile("[0-9]++", re.ASCII)
_ROW = r"(?:[0-9]++|\*)"
_ROWS = re.compile(rf"{_ROW}(?:-{_ROW})?(?:;{_ROW}(?:-{_ROW})?)*", re.ASCII)
_BEYOND = {"pdf": ("page", _PAGES), "csv": ("row", _ROWS)}


def find_scheme_beyond(token: str, positions: str) -> str | None:
    """Return the scheme of these positions in a PDF or a table, or None.

    Text in CSV keeps the default `char` of the draft: two positions separated by a comma.

    >>> find_scheme_beyond("pdf", "3"), find_scheme_beyond("csv", "5-7")
    ('page', 'row')
    >>> find_scheme_beyond("csv", "5,7"), find_scheme_beyond("html", "3")
    (None, None)
    """
    scheme, shape = _BEYOND.get(token, ("", _PAGES))
    return scheme if scheme and shape.fullmatch(positions) else None


def is_video(token: str) -> bool:
    """Return True if a canonical format may name a video, so that `crop` may be omitted too."""
    return _MAJOR_TYPES.get(token) == "video" or token.startswith("video+")
